// The plan dialect: entries as launches over a static arena. See README.md beside this file.
#pragma once

#include "dialects/Tile/Tile.h"

#include "dialects/Plan/PlanDialect.h.inc"
#include "dialects/Plan/PlanEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/PlanAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.h.inc"
