// Public header of the room `base`: what every other room may rely on.
#pragma once

#include "base/element.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/options.h"
#include "base/tensor_host.h"
#include "base/types.h"
