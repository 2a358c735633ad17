// Accumulators of the reductions, over scalars and vectors alike, and the cascade that keeps long sums accurate.
#pragma once

#include "cudaagent_host.h"

namespace ca {

template <class V>
struct element_of {
  using type = V;
};
template <class T>
struct element_of<vec<T>> {
  using type = T;
};
template <class V>
using element = typename element_of<V>::type;

template <class T>
CA_INLINE T lowest() {
  if constexpr (same<T, bool>)
    return false;
  else if constexpr (is_real<T>)
    return -inf<T>();
  else
    return is_signed<T> ? T(uint64_t(1) << (sizeof(T) * 8 - 1)) : T(0);
}
template <class T>
CA_INLINE T highest() {
  if constexpr (same<T, bool>)
    return true;
  else if constexpr (is_real<T>)
    return inf<T>();
  else
    return T(~lowest<T>());
}

#define CA_REDUCTION(name, start, joined) \
  struct reduce_##name {                  \
    template <class T>                    \
    static CA_INLINE T identity() {       \
      return T(start);                    \
    }                                     \
    template <class V>                    \
    static CA_INLINE V join(V a, V b) {   \
      return joined;                      \
    }                                     \
  };
CA_REDUCTION(sum, 0, add(a, b))
CA_REDUCTION(prod, 1, mul(a, b))
CA_REDUCTION(max, lowest<T>(), ca::max(a, b))
CA_REDUCTION(min, highest<T>(), ca::min(a, b))
CA_REDUCTION(any, false, bit_or(a, b))
CA_REDUCTION(all, true, bit_and(a, b))

template <class Kind, class V>
struct accumulator {
  using T = element<V>;
  V value = V(Kind::template identity<T>());

  template <class Kept>
  CA_INLINE void take(V x, Kept kept) {
    value = Kind::join(value, kept(x, Kind::template identity<T>()));
  }
  CA_INLINE void join(const accumulator& other) { value = Kind::join(value, other.value); }
  /// The lanes as one.
  CA_INLINE accumulator<Kind, T> across() const {
    return {horizontal(value, [](auto a, auto b) { return Kind::join(a, b); })};
  }
};

struct greater {
  template <class T>
  static CA_INLINE T identity() {
    return lowest<T>();
  }
  template <class V>
  static CA_INLINE auto beats(V a, V b) {
    return gt(a, b);
  }
};
struct less {
  template <class T>
  static CA_INLINE T identity() {
    return highest<T>();
  }
  template <class V>
  static CA_INLINE auto beats(V a, V b) {
    return lt(a, b);
  }
};
/// The extreme value and the first index it is at; a NaN beats every number. A lane whose values never beat the
/// identity keeps no index: if that is so of all, every element equals the identity and the first is at 0.
template <class Order, class V, class I>
struct arg_accumulator {
  using T = element<V>;
  using Index = element<I>;
  V value = V(Order::template identity<T>());
  I index = I(highest<Index>());

  CA_INLINE auto beaten_by(V x) const {
    return bit_or(Order::beats(x, value), bit_and(isnan(x), bit_not(isnan(value))));
  }
  /// Indices must come in ascending order.
  template <class Kept>
  CA_INLINE void take(V x, I at, Kept kept) {
    x = kept(x, Order::template identity<T>());
    const auto better = beaten_by(x);
    value = where(better, x, value);
    index = where(better, at, index);
  }
  CA_INLINE void join(const arg_accumulator& other) {
    const auto level = bit_or(eq(other.value, value), bit_and(isnan(other.value), isnan(value)));
    const auto better = bit_or(beaten_by(other.value), bit_and(level, lt(other.index, index)));
    value = where(better, other.value, value);
    index = where(better, other.index, index);
  }
  CA_INLINE arg_accumulator<Order, T, Index> across() const {
    T values[lanes];
    Index indices[lanes];
    store(values, value);
    store(indices, index);
    arg_accumulator<Order, T, Index> all;
    for (int l = 0; l < lanes; ++l) all.join({values[l], indices[l]});
    return all;
  }
  CA_INLINE int64_t position() const { return index == highest<Index>() ? 0 : int64_t(index); }
};
template <class T>
CA_INLINE vec<int64_t> positions(vec<T> index) {
  return convert<int64_t>(where(eq(index, vec<T>(highest<T>())), vec<T>(T(0)), index));
}

/// Joins the accumulators of blocks.
template <class A, bool rounds = false>
struct block_joiner {
  A all;

  CA_INLINE void join(const A& block) { all.join(block); }
  CA_INLINE A total() const { return all; }
};
/// A sum of floats keeps what each addition rounds away. Values from a small set round the same way at every step, so
/// that without this the error grows with the length of the row and not with its root.
template <class A>
struct block_joiner<A, true> {
  A all, lost;

  CA_INLINE void join(const A& block) {
    const auto before = all.value, sum = add(before, block.value), taken = sub(sum, before);
    lost.value = add(lost.value, add(sub(before, sub(sum, taken)), sub(block.value, taken)));
    all.value = sum;
  }
  /// Of an infinity nothing is lost, but the differences above are NaN.
  CA_INLINE A total() const {
    A result = all;
    result.join({where(isnan(lost.value), decltype(lost.value)(0), lost.value)});
    return result;
  }
};
template <class A>
inline constexpr bool sums_floats = false;
template <class V>
inline constexpr bool sums_floats<accumulator<reduce_sum, V>> = is_real<element<V>>;
template <class A>
using blocks = block_joiner<A, sums_floats<A>>;

/// Accumulators in two levels. The first takes elements, `width` of them in turn; every fold empties it into the
/// second, so that no chain of rounded additions grows with the row.
template <class A, int width>
struct cascade {
  A first[width];
  blocks<A> second;

  CA_INLINE A joined() const {
    A all = first[0];
    if constexpr (width == 4) {
      A other = first[2];
      all.join(first[1]);
      other.join(first[3]);
      all.join(other);
    } else {
      for (int w = 1; w < width; ++w) all.join(first[w]);
    }
    return all;
  }
  CA_INLINE void fold() {
    second.join(joined());
    for (int w = 0; w < width; ++w) first[w] = A{};
  }
  CA_INLINE A total() const {
    blocks<A> all = second;
    all.join(joined());
    return all.total();
  }
};

CA_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

}  // namespace ca
