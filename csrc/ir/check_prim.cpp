#include "ir/check_prim.h"

#include <algorithm>

#include "ir/prims.h"

namespace cudaagent::ir {

namespace {

using Dims = std::vector<std::int64_t>;

class PrimChecker {
 public:
  PrimChecker(const Graph& graph, const Node& node, const std::string& where)
      : graph_(graph), node_(node), where_(where), name_(node.op.substr(6)) {}

  void run() {
    require(node_.outputs.size() == 1 && node_.outputs[0] != no_value, "makes one value");
    for (const ValueId id : references(node_.args)) operands_.push_back(&graph_.type(id));
    require(is_generated(result().dtype), "makes a dtype that templates cover");
    for (const TensorType* type : operands_) require(is_generated(type->dtype), "reads dtypes that templates cover");
    if (const MapFn* fn = find_map_fn(name_)) return check_map(*fn);
    if (name_ == "convert") return check_convert();
    if (name_ == "full") return check_full();
    if (name_ == "iota") return check_iota();
    if (name_ == "reduce") return check_reduce();
    if (is_view(node_.op)) return check_view();
    require(false, "is a primitive of ir/prims.h");
  }

 private:
  void require(bool holds, const std::string& rule) const {
    if (!holds) throw InternalError("graph: " + where_ + " " + rule);
  }
  const TensorType& result() const { return graph_.type(node_.outputs[0]); }
  const Arg& attribute(const std::string& name) const {
    const Arg* arg = find_arg(node_.args, name);
    require(arg != nullptr, "has the attribute " + name);
    return *arg;
  }
  std::int64_t integer(const std::string& name) const {
    const Arg& arg = attribute(name);
    require(arg.is<std::int64_t>(), "has an integer " + name);
    return arg.as<std::int64_t>();
  }
  Dims integers(const std::string& name) const {
    const Arg& arg = attribute(name);
    require(arg.is<ArgList>() && std::all_of(arg.as<ArgList>().begin(), arg.as<ArgList>().end(),
                                             [](const Arg& item) { return item.is<std::int64_t>(); }),
            "has a list of integers " + name);
    return as_int_list(arg);
  }
  static bool is_number(const Arg& arg) { return arg.is<bool>() || arg.is<std::int64_t>() || arg.is<double>(); }
  void one_operand() const { require(operands_.size() == 1, "has one operand"); }

  void check_map(const MapFn& fn) const {
    require(node_.args.size() == fn.arity, "has " + std::to_string(fn.arity) + " operands");
    std::vector<DType> dtypes;
    Dims dims;
    for (std::size_t i = 0; i < node_.args.size(); ++i) {
      const Arg& arg = node_.args[i].value;
      require(arg.is<Ref>() || is_number(arg), "has references and numbers as operands");
      if (!arg.is<Ref>()) continue;
      const TensorType& type = graph_.type(arg.as<Ref>().id);
      broadcast(dims, type.dims);
      if (name_ == "where" && i == 0) {
        require(type.dtype == DType::b8, "has a bool condition");
      } else {
        dtypes.push_back(type.dtype);
      }
    }
    require(result().dims == dims, "has the broadcast of its operands' dims");
    const DType result_dtype = result().dtype;
    if (dtypes.empty()) {
      require(name_ == "where" && !operands_.empty(), "has a tensor operand");
      dtypes.push_back(result_dtype);
    }
    const DType dtype = dtypes[0];
    require(std::all_of(dtypes.begin(), dtypes.end(), [&](DType d) { return d == dtype; }),
            "has operands of one dtype");
    require(result_dtype == (fn.predicate ? DType::b8 : dtype),
            "has the result dtype of its operands (predicates: bool)");
    require(is_float(dtype) ? fn.floats : is_integral(dtype) ? fn.ints : fn.bools, "is defined on its operands' dtype");
  }

  void broadcast(Dims& into, const Dims& dims) const {
    if (into.size() < dims.size()) into.insert(into.begin(), dims.size() - into.size(), 1);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      std::int64_t& extent = into[into.size() - dims.size() + i];
      require(extent == dims[i] || extent == 1 || dims[i] == 1, "has operands that broadcast");
      if (extent == 1) extent = dims[i];
    }
  }

  void check_convert() const {
    one_operand();
    require(operands_[0]->dims == result().dims, "keeps its operand's dims");
  }

  void check_full() const {
    require(operands_.empty() && is_number(attribute("value")), "has a number as value and no operands");
  }

  void check_iota() const {
    require(operands_.empty() && result().dtype != DType::b8, "has no operands and a number's dtype");
    axis(integer("dim"), result().dims.size());
    require(is_number(attribute("start")) && is_number(attribute("step")), "has numbers as start and step");
  }

  void axis(std::int64_t dim, std::size_t rank) const {
    require(dim >= 0 && dim < static_cast<std::int64_t>(rank), "names dims of its operand");
  }

  void check_reduce() const {
    one_operand();
    const TensorType& x = *operands_[0];
    const Arg& kind_arg = attribute("kind");
    require(kind_arg.is<std::string>() && find_reduce_kind(kind_arg.as<std::string>()), "has a known kind");
    require(attribute("keepdim").is<bool>(), "has a bool keepdim");
    const bool keepdim = attribute("keepdim").as<bool>();
    const Dims dims = integers("dims");
    require(!dims.empty() && std::is_sorted(dims.begin(), dims.end()) &&
                std::adjacent_find(dims.begin(), dims.end()) == dims.end(),
            "has dims that ascend and are not empty");
    Dims expected;
    for (const std::int64_t dim : dims) axis(dim, x.dims.size());
    for (std::size_t i = 0; i < x.dims.size(); ++i) {
      const bool reduced = std::binary_search(dims.begin(), dims.end(), static_cast<std::int64_t>(i));
      if (!reduced) expected.push_back(x.dims[i]);
      if (reduced && keepdim) expected.push_back(1);
    }
    require(result().dims == expected, "has the dims its reduction leaves");
    check_reduce_dtype(*find_reduce_kind(kind_arg.as<std::string>()), x.dtype);
  }

  void check_reduce_dtype(ReduceKind kind, DType x) const {
    const bool index = kind == ReduceKind::argmax || kind == ReduceKind::argmin;
    const bool logical = kind == ReduceKind::any || kind == ReduceKind::all;
    require(result().dtype == (index ? DType::i64 : logical ? DType::b8 : x), "has the result dtype of its kind");
  }

  void check_view() const {
    one_operand();
    const TensorType& x = *operands_[0];
    require(x.dtype == result().dtype, "keeps its operand's dtype");
    if (name_ == "permute") return check_permute(x.dims);
    if (name_ == "slice") return check_slice(x.dims);
    require(integers("shape") == result().dims, "has its result's dims as shape");
    if (name_ == "reshape") {
      require(x.numel() == result().numel(), "keeps the number of elements");
    } else {
      Dims dims = result().dims;
      broadcast(dims, x.dims);
      require(x.dims.size() <= result().dims.size() && dims == result().dims, "expands dims of extent 1 only");
    }
  }

  void check_permute(const Dims& x) const {
    const Dims dims = integers("dims");
    Dims sorted = dims;
    std::sort(sorted.begin(), sorted.end());
    require(dims.size() == x.size() && result().dims.size() == x.size(), "permutes every dim");
    for (std::size_t i = 0; i < dims.size(); ++i) {
      require(sorted[i] == static_cast<std::int64_t>(i), "names every dim once");
      require(result().dims[i] == x[static_cast<std::size_t>(dims[i])], "has the permuted dims");
    }
  }

  void check_slice(const Dims& x) const {
    const std::int64_t dim = integer("dim"), start = integer("start"), step = integer("step");
    axis(dim, x.size());
    require(step != 0 && result().dims.size() == x.size(), "has a step that moves and its operand's rank");
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::int64_t extent = result().dims[i];
      if (static_cast<std::int64_t>(i) != dim) {
        require(extent == x[i], "keeps the other dims");
      } else if (extent > 0) {
        const std::int64_t last = start + (extent - 1) * step;
        require(std::min(start, last) >= 0 && std::max(start, last) < x[i], "stays inside its operand");
      }
    }
  }

  const Graph& graph_;
  const Node& node_;
  const std::string& where_;
  std::string name_;
  std::vector<const TensorType*> operands_;
};

}  // namespace

void check_prim(const Graph& graph, const Node& node, const std::string& where) {
  PrimChecker(graph, node, where).run();
}

}  // namespace cudaagent::ir
