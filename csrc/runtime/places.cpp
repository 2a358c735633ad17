#include "runtime/places.h"

#include <algorithm>

namespace cudaagent::runtime {

namespace {

class Finder {
 public:
  explicit Finder(const schedule::Plan& plan) : plan_(plan) {
    const std::size_t count = plan.graph.values.size();
    places_.of.resize(count);
    places_.first.assign(count, -1);
    places_.last.assign(count, -1);
  }

  Places find() {
    for (const ir::Input& input : plan_.graph.inputs) at(input.value) = {Home::input, input.value, 0};
    for (std::size_t r = 0; r < plan_.regions.size(); ++r) walk(plan_.regions[r], static_cast<int>(r));
    const int end = static_cast<int>(plan_.regions.size());
    for (const ir::Mutation& mutation : plan_.graph.mutations) touch(mutation.value, end);
    for (const ir::Output& output : plan_.graph.outputs) {
      if (output.value == ir::no_value) continue;
      touch(output.value, end);
      Place& root = at(at(output.value).root);
      if (root.home == Home::arena) root.home = Home::owned;
    }
    for (Place& place : places_.of) {
      if (place.home != Home::none) place.home = at(place.root).home;
    }
    return std::move(places_);
  }

 private:
  void walk(const schedule::Region& region, int index) {
    if (region.kind == schedule::RegionKind::view) {
      const Place& base = touch(region.view_of, index);
      const ir::ValueId value = region.outputs.at(0);
      const std::int64_t offset = region.view_offset * dtype_size(plan_.graph.type(value).dtype);
      at(value) = {base.home, base.root, base.offset + offset};
      return;
    }
    for (const ir::ValueId value : region.inputs) touch(value, index);
    const bool external = region.kind == schedule::RegionKind::external;
    const auto& made =
        external ? plan_.graph.nodes.at(static_cast<std::size_t>(region.nodes.at(0))).outputs : region.outputs;
    for (const ir::ValueId value : made) {
      if (value == ir::no_value) continue;
      at(value) = {external ? Home::external : Home::arena, value, 0};
      places_.first[static_cast<std::size_t>(value)] = index;
      touch(value, index);
    }
  }

  Place& touch(ir::ValueId value, int index) {
    Place& place = at(value);
    if (place.home == Home::none) {
      throw InternalError("a plan reads value %" + std::to_string(value) + ", which no region before it makes");
    }
    int& last = places_.last.at(static_cast<std::size_t>(place.root));
    last = std::max(last, index);
    return place;
  }

  Place& at(ir::ValueId value) { return places_.of.at(static_cast<std::size_t>(value)); }

  const schedule::Plan& plan_;
  Places places_;
};

}  // namespace

Places find_places(const schedule::Plan& plan) { return Finder(plan).find(); }

std::int64_t bytes_spanned(const TensorType& type) { return type.span() * dtype_size(type.dtype); }

}  // namespace cudaagent::runtime
