// One operator called through the dispatcher, its constants converted to the schema's types once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/base.h"

namespace cudaagent::bridge {

/// See TensorHost::prepare.
std::unique_ptr<ExternCall> prepare_extern(const std::string& op, const std::vector<NamedArg>& args);

}  // namespace cudaagent::bridge
