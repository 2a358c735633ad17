#include <algorithm>

#include "ir/prims.h"
#include "rewrite/builder.h"

namespace cudaagent::rewrite {

namespace {

NamedArg operand_x(Val x) { return {"x", Arg{Ref{x.id}}}; }

std::int64_t product(const Dims& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

}  // namespace

Val Builder::permute(Val x, const Dims& order) {
  Dims out;
  for (const std::int64_t dim : order) out.push_back(extent(x, dim));
  return emit("permute", {operand_x(x), {"dims", int_list(order)}}, dtype(x), out);
}

Val Builder::reshape(Val x, const Dims& dims) {
  if (product(dims) != product(this->dims(x))) {
    refuse("a shape of another size");
    return x;
  }
  return emit("reshape", {operand_x(x), {"shape", int_list(dims)}}, dtype(x), dims);
}

Val Builder::expand(Val x, const Dims& dims) {
  Dims joined;
  if (!broadcast_dims(this->dims(x), dims, joined) || joined != dims) {
    refuse("a shape it does not expand to");
    return x;
  }
  return emit("expand", {operand_x(x), {"shape", int_list(dims)}}, dtype(x), dims);
}

Val Builder::slice(Val x, std::int64_t dim, std::int64_t start, std::int64_t step, std::int64_t extent) {
  Dims out = dims(x);
  const std::int64_t last = start + (extent - 1) * step;
  if (extent > 0 && (std::min(start, last) < 0 || std::max(start, last) >= this->extent(x, dim))) {
    refuse("a slice out of range");
    return x;
  }
  out.at(static_cast<std::size_t>(dim)) = extent;
  return emit("slice", {operand_x(x), {"dim", Arg{dim}}, {"start", Arg{start}}, {"step", Arg{step}}}, dtype(x), out);
}

Val Builder::unsqueeze(Val x, std::int64_t dim) {
  Dims out = dims(x);
  out.insert(out.begin() + dim, 1);
  return reshape(x, out);
}

Val Builder::squeeze(Val x, std::int64_t dim) {
  Dims out = dims(x);
  out.erase(out.begin() + dim);
  return reshape(x, out);
}

bool Builder::views_foreign(Val x) const {
  while (fresh(x)) {
    const auto maker = std::find_if(graph_.nodes.rbegin(), graph_.nodes.rend(),
                                    [&](const ir::Node& node) { return node.outputs[0] == x.id; });
    if (maker == graph_.nodes.rend() || !ir::is_view(maker->op)) return false;
    x = {references(maker->args).at(0)};
  }
  return true;
}

}  // namespace cudaagent::rewrite
