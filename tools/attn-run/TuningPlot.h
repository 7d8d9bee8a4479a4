//===- TuningPlot.h - Drawings of searches ----------------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_TUNINGPLOT_H
#define ATTN_TOOLS_ATTNRUN_TUNINGPLOT_H

#include "attn/Tune/Tuner.h"

namespace attn::cli {

/// A search as an SVG: the times that each candidate took over the time of the
/// search, those of the compiler's choice, and of the best so far, which is the
/// least median of those whose results are right.
std::string drawTuning(const tune::TuneResult &result);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_TUNINGPLOT_H
