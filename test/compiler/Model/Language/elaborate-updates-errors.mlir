// RUN: heddle-opt %s --heddle-elaborate-updates --split-input-file --verify-diagnostics

heddle.optimizer "a.weft" {parameters = {}, text = "update(w, g) { w }"}
// expected-error @+1 {{is a second optimizer of the module; remove either}}
heddle.optimizer "b.weft" {parameters = {}, text = "update(w, g) { w }"}

// -----

heddle.variable @w weight : tensor<4xf32>
// expected-error @+1 {{has the parameter "beta" = unit, which is no number, string, flag or list of numbers}}
heddle.optimizer "a.weft" {parameters = {beta}, text = "update(w, g) { w }"}
