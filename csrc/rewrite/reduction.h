// What rules with reductions share.
#pragma once

#include "rewrite/registry.h"

namespace cudaagent::rewrite {

Val sum(Builder& b, Val x, const Dims& dims, bool keepdim);
/// Sum divided by the number of elements.
Val mean(Builder& b, Val x, const Dims& dims, bool keepdim);

/// Mean and variance in two passes: the mean first, then the squared distances from it.
struct Moments {
  Val mean;      ///< reduced dims kept with extent 1
  Val centered;  ///< x - mean
  Val variance;  ///< over count - correction, reduced dims kept
};
Moments moments(Builder& b, Val x, const Dims& dims, double correction);

/// (sum over |x|^p)^(1/p), with the limits at 0 and the infinities.
Val vector_norm(Builder& b, Val x, double p, const Dims& dims, bool keepdim);

/// x - log(sum(exp(x))) along one dim, shifted by the largest.
Val log_softmax(Builder& b, Val x, std::int64_t dim);

/// A loss reduced as torch's integer says: 0 not at all, 1 mean, 2 sum.
Val reduce_loss(Builder& b, Val loss, std::int64_t reduction);
/// The argument "reduction", mean by default.
std::int64_t reduction_of(const Call& c);

}  // namespace cudaagent::rewrite
