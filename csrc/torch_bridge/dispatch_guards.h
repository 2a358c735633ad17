// What must be switched off in the dispatcher while a captured graph runs.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace cudaagent::bridge {

/// The graph holds autocast's conversions already, gradients are not recorded, and Python's modes have seen the program
/// as one operator. Updates of inputs still move their version counters.
class PlainDispatch {
 private:
  at::AutoDispatchBelowAutograd below_autograd_;
  c10::impl::ExcludeDispatchKeyGuard exclude_{c10::autocast_dispatch_keyset | c10::python_ks |
                                              c10::DispatchKeySet(c10::DispatchKey::PreDispatch)};
};

}  // namespace cudaagent::bridge
