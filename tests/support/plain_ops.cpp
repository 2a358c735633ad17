// The operators of PlainHost.
#include <algorithm>
#include <cmath>
#include <map>

#include "support/plain_host.h"
#include "support/plain_tensor.h"

namespace cudaagent::testing {

namespace {

using Dims = std::vector<std::int64_t>;
using Args = std::vector<NamedArg>;

double number(const Arg& arg) {
  if (arg.is<double>()) return arg.as<double>();
  if (arg.is<bool>()) return arg.as<bool>();
  return static_cast<double>(arg.as<std::int64_t>());
}

/// One argument as an operator sees it: a tensor, or a number.
struct Operand {
  const PlainTensor* tensor = nullptr;
  double scalar = 0;

  double at(const Dims& index) const {
    return tensor ? load_element(element(*tensor, index), tensor->type.dtype) : scalar;
  }
};

class PlainCall : public ExternCall {
 public:
  using Body = std::function<Tensor(PlainHost&, const Args&, std::span<const Tensor>)>;
  PlainCall(PlainHost& host, Args args, Body body) : host_(host), args_(std::move(args)), body_(std::move(body)) {}

  std::vector<Tensor> run(std::span<const Tensor> inputs) override {
    ++host_.calls;
    return {body_(host_, args_, inputs)};
  }

 private:
  PlainHost& host_;
  Args args_;
  Body body_;
};

Operand operand(const Args& args, std::string_view name, std::span<const Tensor> inputs) {
  const Arg* arg = find_arg(args, name);
  if (!arg) throw UserError("PlainHost: the argument " + std::string(name) + " is missing");
  if (!arg->is<Ref>()) return {nullptr, number(*arg)};
  return {&plain(inputs[static_cast<std::size_t>(arg->as<Ref>().id)]), 0};
}

Dims broadcast(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()), 1);
  for (const Dims* dims : {&a, &b}) {
    for (std::size_t d = 0; d < dims->size(); ++d) {
      std::int64_t& extent = out[out.size() - dims->size() + d];
      if ((*dims)[d] != 1) extent = (*dims)[d];
    }
  }
  return out;
}

Tensor fresh(PlainHost& host, DType dtype, const Dims& dims) {
  return host.empty({dtype, dims, contiguous_strides(dims), {}});
}

PlainCall::Body unary(double (*fn)(double)) {
  return [fn](PlainHost& host, const Args& args, std::span<const Tensor> inputs) {
    const Operand x = operand(args, "self", inputs);
    const DType dtype = x.tensor->type.dtype;
    Tensor out = fresh(host, dtype, x.tensor->type.dims);
    for_each_index(x.tensor->type.dims,
                   [&](const Dims& index) { store_element(element(plain(out), index), dtype, fn(x.at(index))); });
    return out;
  };
}

PlainCall::Body binary(double (*fn)(double, double)) {
  return [fn](PlainHost& host, const Args& args, std::span<const Tensor> inputs) {
    const Operand a = operand(args, "self", inputs), b = operand(args, "other", inputs);
    const Arg* alpha_arg = find_arg(args, "alpha");
    const double alpha = alpha_arg ? number(*alpha_arg) : 1;
    const DType dtype = a.tensor ? a.tensor->type.dtype : b.tensor->type.dtype;
    const Dims dims = broadcast(a.tensor ? a.tensor->type.dims : Dims{}, b.tensor ? b.tensor->type.dims : Dims{});
    Tensor out = fresh(host, dtype, dims);
    for_each_index(dims, [&](const Dims& index) {
      store_element(element(plain(out), index), dtype, fn(a.at(index), alpha * b.at(index)));
    });
    return out;
  };
}

Tensor greater(PlainHost& host, const Args& args, std::span<const Tensor> inputs) {
  const Operand a = operand(args, "self", inputs), b = operand(args, "other", inputs);
  Tensor out = fresh(host, DType::b8, a.tensor->type.dims);
  for_each_index(a.tensor->type.dims, [&](const Dims& index) {
    store_element(element(plain(out), index), DType::b8, a.at(index) > b.at(index));
  });
  return out;
}

Tensor convert(PlainHost& host, const Args& args, std::span<const Tensor> inputs) {
  const Operand x = operand(args, "self", inputs);
  const Arg* dtype_arg = find_arg(args, "dtype");
  const DType dtype = dtype_arg && dtype_arg->is<DType>() ? dtype_arg->as<DType>() : x.tensor->type.dtype;
  Tensor out = fresh(host, dtype, x.tensor->type.dims);
  for_each_index(x.tensor->type.dims,
                 [&](const Dims& index) { store_element(element(plain(out), index), dtype, x.at(index)); });
  return out;
}

/// Dims of `x` with those in `reduced` set to 1, and without them unless `keepdim`.
std::pair<Dims, Dims> reduced_dims(const Dims& x, const Dims& reduced, bool keepdim) {
  Dims kept = x, out;
  for (const std::int64_t dim : reduced) kept[static_cast<std::size_t>(dim < 0 ? dim + std::ssize(x) : dim)] = 1;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const bool gone = std::any_of(reduced.begin(), reduced.end(), [&](std::int64_t r) {
      return (r < 0 ? r + std::ssize(x) : r) == static_cast<std::int64_t>(d);
    });
    if (!gone || keepdim) out.push_back(gone ? 1 : x[d]);
  }
  return {kept, out};
}

bool keepdim_of(const Args& args) {
  const Arg* arg = find_arg(args, "keepdim");
  return arg && arg->as<bool>();
}

Tensor sum(PlainHost& host, const Args& args, std::span<const Tensor> inputs) {
  const PlainTensor& x = *operand(args, "self", inputs).tensor;
  const auto [kept, dims] = reduced_dims(x.type.dims, as_int_list(*find_arg(args, "dim")), keepdim_of(args));
  // Accumulates in the tensor's own dtype, as a plain loop would.
  const DType dtype = x.type.dtype;
  const Tensor out = fresh(host, dtype, dims);
  const Tensor wide = host.view(out, {dtype, kept, contiguous_strides(kept), {}}, 0);
  for_each_index(kept, [&](const Dims& index) { store_element(element(plain(wide), index), dtype, 0); });
  for_each_index(x.type.dims, [&](const Dims& index) {
    std::byte* at = element(plain(wide), index);
    store_element(at, dtype, load_element(at, dtype) + load_element(element(x, index), dtype));
  });
  return out;
}

Tensor argmax(PlainHost& host, const Args& args, std::span<const Tensor> inputs) {
  const PlainTensor& x = *operand(args, "self", inputs).tensor;
  const std::int64_t given = find_arg(args, "dim")->as<std::int64_t>();
  const auto dim = static_cast<std::size_t>(given < 0 ? given + std::ssize(x.type.dims) : given);
  const auto [kept, dims] = reduced_dims(x.type.dims, {static_cast<std::int64_t>(dim)}, keepdim_of(args));
  const Tensor out = fresh(host, DType::i64, dims);
  const Tensor wide = host.view(out, {DType::i64, kept, contiguous_strides(kept), {}}, 0);
  for_each_index(kept, [&](const Dims& index) {
    Dims at = index;
    double best = 0;
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < x.type.dims[dim]; ++i) {
      at[dim] = i;
      const double value = load_element(element(x, at), x.type.dtype);
      const bool wins = i == 0 || value > best || (std::isnan(value) && !std::isnan(best));
      if (wins) best = value, found = i;
    }
    store_element(element(plain(wide), index), DType::i64, static_cast<double>(found));
  });
  return out;
}

Tensor view(PlainHost& host, const Args& args, std::span<const Tensor> inputs) {
  const Tensor& x = inputs[0];
  const Dims size = as_int_list(*find_arg(args, "size"));
  return host.view(x, {plain(x).type.dtype, size, contiguous_strides(size), {}}, plain(x).byte_offset);
}

Tensor empty(PlainHost& host, const Args& args, std::span<const Tensor>) {
  const Arg* dtype = find_arg(args, "dtype");
  return fresh(host, dtype ? dtype->as<DType>() : DType::f32, as_int_list(*find_arg(args, "size")));
}

const std::map<std::string, PlainCall::Body>& operators() {
  static const auto add = binary([](double a, double b) { return a + b; });
  static const auto sub = binary([](double a, double b) { return a - b; });
  static const auto mul = binary([](double a, double b) { return a * b; });
  static const std::map<std::string, PlainCall::Body> table = {
      {"aten::add.Tensor", add},
      {"aten::add.Scalar", add},
      {"aten::sub.Tensor", sub},
      {"aten::sub.Scalar", sub},
      {"aten::mul.Tensor", mul},
      {"aten::mul.Scalar", mul},
      // NaN passes, as in torch.
      {"aten::relu", unary([](double x) { return x < 0 ? 0 : x; })},
      {"aten::exp", unary([](double x) { return std::exp(x); })},
      {"aten::neg", unary([](double x) { return -x; })},
      {"aten::clone", unary([](double x) { return x; })},
      {"aten::gt.Scalar", greater},
      {"aten::to.dtype", convert},
      {"aten::_to_copy", convert},
      {"aten::sum.dim_IntList", sum},
      {"aten::argmax", argmax},
      {"aten::view", view},
      {"aten::empty.memory_format", empty},
  };
  return table;
}

}  // namespace

std::unique_ptr<ExternCall> PlainHost::prepare(const std::string& op, const std::vector<NamedArg>& args) {
  const auto found = operators().find(op);
  if (found == operators().end()) throw UserError("PlainHost has no operator " + op + ": add it to plain_ops.cpp");
  return std::make_unique<PlainCall>(*this, args, found->second);
}

}  // namespace cudaagent::testing
