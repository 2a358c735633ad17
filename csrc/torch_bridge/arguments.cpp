#include "torch_bridge/arguments.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/jit_type.h>

#include <algorithm>

#include "torch_bridge/aten_types.h"

namespace cudaagent::bridge {

namespace {

using c10::IValue;
using c10::TypeKind;

[[noreturn]] void refuse(const c10::TypePtr& type) {
  throw UserError("this value does not fit the type " + type->str() + " of the operator's schema");
}

bool is_number(const Arg& arg) {
  return arg.is<bool>() || arg.is<std::int64_t>() || arg.is<double>() || arg.is<Complex>();
}

c10::Scalar to_scalar(const Arg& arg) {
  if (arg.is<bool>()) return arg.as<bool>();
  if (arg.is<std::int64_t>()) return arg.as<std::int64_t>();
  if (arg.is<double>()) return arg.as<double>();
  const Complex& value = arg.as<Complex>();
  return c10::complex<double>(value.re, value.im);
}

IValue to_tensor(const c10::TypePtr& type, const Arg& arg) {
  if (arg.is<None>()) return at::Tensor();
  if (!is_number(arg)) refuse(type);
  at::Tensor number = c10::scalar_to_tensor(to_scalar(arg));
  number.unsafeGetTensorImpl()->set_wrapped_number(true);
  return number;
}

// Element types, layouts and memory formats are integers to the boxed convention.
IValue to_int(const c10::TypePtr& type, const Arg& arg) {
  if (arg.is<std::int64_t>()) return arg.as<std::int64_t>();
  if (arg.is<bool>()) return static_cast<std::int64_t>(arg.as<bool>());
  if (arg.is<DType>()) return static_cast<std::int64_t>(scalar_type(arg.as<DType>()));
  if (arg.is<Layout>()) return static_cast<std::int64_t>(aten_layout(arg.as<Layout>()));
  if (arg.is<MemoryFormat>()) return static_cast<std::int64_t>(aten_memory_format(arg.as<MemoryFormat>()));
  refuse(type);
}

IValue to_float(const c10::TypePtr& type, const Arg& arg) {
  if (!is_number(arg) || arg.is<Complex>()) refuse(type);
  return to_scalar(arg).toDouble();
}

IValue to_bool(const c10::TypePtr& type, const Arg& arg) {
  if (arg.is<bool>()) return arg.as<bool>();
  if (arg.is<std::int64_t>()) return arg.as<std::int64_t>() != 0;
  refuse(type);
}

IValue convert(const c10::TypePtr& type, const Arg& arg, std::optional<int> repeat);

IValue to_list(const c10::TypePtr& type, const Arg& arg, std::optional<int> repeat) {
  const c10::TypePtr element = type->expectRef<c10::ListType>().getElementType();
  c10::impl::GenericList list(element);
  if (arg.is<ArgList>()) {
    for (const Arg& item : arg.as<ArgList>()) list.push_back(convert(element, item, std::nullopt));
  } else {
    // int[2] takes 3 for [3, 3].
    for (int i = 0; i < repeat.value_or(1); ++i) list.push_back(convert(element, arg, std::nullopt));
  }
  return list;
}

IValue convert(const c10::TypePtr& type, const Arg& arg, std::optional<int> repeat) {
  switch (type->kind()) {
    case TypeKind::OptionalType:
      if (arg.is<None>()) return IValue();
      return convert(type->expectRef<c10::OptionalType>().getElementType(), arg, repeat);
    case TypeKind::TensorType:
      return to_tensor(type, arg);
    case TypeKind::NumberType:
      if (!is_number(arg)) refuse(type);
      return IValue(to_scalar(arg));
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return to_int(type, arg);
    case TypeKind::FloatType:
    case TypeKind::SymFloatType:
      return to_float(type, arg);
    case TypeKind::BoolType:
    case TypeKind::SymBoolType:
      return to_bool(type, arg);
    case TypeKind::StringType:
      if (!arg.is<std::string>()) refuse(type);
      return arg.as<std::string>();
    case TypeKind::DeviceObjType:
      if (!arg.is<Device>()) refuse(type);
      return aten_device(arg.as<Device>());
    case TypeKind::ListType:
      return to_list(type, arg, repeat);
    default:
      refuse(type);
  }
}

c10::TypePtr without_optional(const c10::TypePtr& type) {
  return type->kind() == TypeKind::OptionalType ? type->expectRef<c10::OptionalType>().getElementType() : type;
}

}  // namespace

StackTemplate::StackTemplate(const c10::FunctionSchema& schema, const std::vector<NamedArg>& args) {
  for (const NamedArg& given : args) {
    if (!schema.argumentIndexWithName(given.name)) {
      throw UserError("operator " + schema.name() + " has no argument named " + given.name);
    }
  }
  const auto& formals = schema.arguments();
  stack_.resize(formals.size());
  for (std::size_t a = 0; a < formals.size(); ++a) {
    const c10::Argument& formal = formals[a];
    const auto given =
        std::find_if(args.begin(), args.end(), [&](const NamedArg& named) { return named.name == formal.name(); });
    if (given != args.end()) {
      try {
        place(a, formal, given->value);
      } catch (const UserError& error) {
        throw UserError("operator " + schema.name() + ", argument " + formal.name() + ": " + error.what());
      }
    } else if (formal.default_value()) {
      stack_[a] = *formal.default_value();
    } else if (formal.type()->kind() != TypeKind::OptionalType) {
      throw UserError("operator " + schema.name() + " needs its argument " + formal.name());
    }
  }
}

void StackTemplate::place(std::size_t argument, const c10::Argument& formal, const Arg& arg) {
  if (arg.is<Ref>()) {
    if (without_optional(formal.type())->kind() != TypeKind::TensorType) refuse(formal.type());
    tensors_.push_back({argument, arg.as<Ref>().id});
    return;
  }
  if (arg.is<ArgList>() && place_list(argument, without_optional(formal.type()), arg)) return;
  stack_[argument] = convert(formal.type(), arg, formal.N());
}

bool StackTemplate::place_list(std::size_t argument, const c10::TypePtr& type, const Arg& arg) {
  const ArgList& items = arg.as<ArgList>();
  if (std::none_of(items.begin(), items.end(), [](const Arg& item) { return item.is<Ref>(); })) return false;
  if (type->kind() != TypeKind::ListType) refuse(type);
  const c10::TypePtr element = type->expectRef<c10::ListType>().getElementType();
  if (without_optional(element)->kind() != TypeKind::TensorType) refuse(type);
  ListSlot slot{argument, element, {}, {}};
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool tensor = items[i].is<Ref>();
    slot.constants.push_back(tensor ? c10::IValue() : convert(element, items[i], std::nullopt));
    if (tensor) slot.tensors.emplace_back(i, items[i].as<Ref>().id);
  }
  lists_.push_back(std::move(slot));
  return true;
}

torch::jit::Stack StackTemplate::fill(std::span<const Tensor> inputs) const {
  torch::jit::Stack stack = stack_;
  for (const TensorSlot& slot : tensors_) stack[slot.argument] = to_aten(inputs[static_cast<std::size_t>(slot.input)]);
  for (const ListSlot& slot : lists_) {
    c10::impl::GenericList list(slot.element);
    list.reserve(slot.constants.size());
    auto next = slot.tensors.begin();
    for (std::size_t i = 0; i < slot.constants.size(); ++i) {
      const bool tensor = next != slot.tensors.end() && next->first == i;
      list.push_back(tensor ? c10::IValue(to_aten(inputs[static_cast<std::size_t>((next++)->second)]))
                            : slot.constants[i]);
    }
    stack[slot.argument] = std::move(list);
  }
  return stack;
}

}  // namespace cudaagent::bridge
