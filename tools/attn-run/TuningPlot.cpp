//===- TuningPlot.cpp - Drawings of searches ------------------------------===//

#include "TuningPlot.h"
#include "Summary.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace attn;
using namespace attn::cli;
using llvm::formatv;
using tune::TuneResult;

namespace {
/// Numbers of one axis, and where they are drawn.
struct Axis {
  double least, most;
  double from, to;

  double get(double number) const {
    double part = (number - least) / (most - least);
    return from + std::clamp(part, 0.0, 1.0) * (to - from);
  }
  /// A distance of some four to eight marks: 1, 2 or 5 times a power of ten.
  double getStep() const {
    double step = std::pow(10, std::floor(std::log10((most - least) / 4)));
    for (double factor : {5.0, 2.0})
      if ((most - least) / (factor * step) >= 4)
        return factor * step;
    return step;
  }
};

/// The best at a time, in microseconds.
struct Step {
  double elapsed, best;
};
} // namespace

static constexpr double kWidth = 860, kPlotHeight = 300, kLineHeight = 16;

/// Lines of a text that are as long as a picture is wide.
static std::vector<std::string> wrap(llvm::StringRef text) {
  constexpr size_t columns = 120;
  std::vector<std::string> lines(1);
  for (llvm::StringRef word : llvm::split(text, ' ')) {
    if (!lines.back().empty() && lines.back().size() + word.size() >= columns)
      lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word.str();
  }
  return lines;
}

static double getMedian(std::vector<double> numbers) {
  llvm::sort(numbers);
  size_t middle = numbers.size() / 2;
  return numbers.size() % 2 ? numbers[middle]
                            : (numbers[middle - 1] + numbers[middle]) / 2;
}

static bool isRight(const tune::Trial &trial) {
  return trial.verdict.empty() || trial.verdict == "slower" ||
         trial.verdict == "not surely faster";
}

static std::vector<Step> findBest(const TuneResult &result) {
  std::vector<std::vector<double>> times(result.trials.size());
  std::vector<Step> steps;
  for (const tune::Turn &turn : result.turns) {
    if (!isRight(result.trials[turn.trial]))
      continue;
    times[turn.trial].push_back(1e6 * turn.seconds);
    double best = HUGE_VAL;
    for (const std::vector<double> &own : times)
      if (!own.empty())
        best = std::min(best, getMedian(own));
    steps.push_back({turn.elapsed, best});
  }
  return steps;
}

static void drawText(llvm::raw_ostream &os, double x, double y,
                     llvm::StringRef anchor, llvm::StringRef text) {
  os << formatv("<text x=\"{0:F1}\" y=\"{1:F1}\" text-anchor=\"{2}\">", x, y,
                anchor);
  llvm::printHTMLEscaped(text, os);
  os << "</text>\n";
}

static void drawLine(llvm::raw_ostream &os, double x0, double y0, double x1,
                     double y1, llvm::StringRef color) {
  os << formatv("<line x1=\"{0:F1}\" y1=\"{1:F1}\" x2=\"{2:F1}\" y2=\"{3:F1}\" "
                "stroke=\"{4}\"/>\n",
                x0, y0, x1, y1, color);
}

static void drawAxes(llvm::raw_ostream &os, const Axis &x, const Axis &y) {
  for (double at = 0, step = x.getStep(); at <= x.most; at += step) {
    drawLine(os, x.get(at), y.from, x.get(at), y.from + 5, "black");
    drawText(os, x.get(at), y.from + 18, "middle", formatNumber(at, 4));
  }
  double step = y.getStep();
  for (double at = step * std::ceil(y.least / step); at <= y.most; at += step) {
    drawLine(os, x.from, y.get(at), x.to, y.get(at), "#dddddd");
    drawText(os, x.from - 8, y.get(at) + 4, "end", formatNumber(at, 4));
  }
  drawLine(os, x.from, y.from, x.to, y.from, "black");
  drawLine(os, x.from, y.from, x.from, y.to, "black");
  drawText(os, (x.from + x.to) / 2, y.from + 36, "middle",
           "seconds of the search");
  drawText(os, x.from, y.to - 8, "end", "us");
}

std::string cli::drawTuning(const TuneResult &result) {
  constexpr llvm::StringLiteral own = "#1f77b4", others = "#999999",
                                wrong = "#d62728", bestColor = "#2ca02c";
  std::vector<Step> steps = findBest(result);
  const tune::Entry &entry = result.entry;
  std::vector<std::string> header =
      wrap("@" + entry.name + " " + entry.extents + " on " + entry.device);
  llvm::append_range(header, wrap(result.describe()));
  double legend = kLineHeight * double(header.size()) + 24;
  double top = legend + 26;
  Axis x{0, 0, 70, kWidth - 20}, y{HUGE_VAL, 0, top + kPlotHeight, top};
  std::vector<double> times;
  for (const tune::Turn &turn : result.turns) {
    x.most = std::max(x.most, turn.elapsed);
    times.push_back(1e6 * turn.seconds);
    y.least = std::min(y.least, times.back());
  }
  // Without any, as a drawing of nothing; what is slowest is at the edge.
  if (times.empty()) {
    x.most = y.most = 1;
    y.least = 0;
  } else {
    llvm::sort(times);
    y.most = 1.1 * times[(times.size() - 1) * 9 / 10];
    y.least *= 0.9;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << formatv("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
                "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
                "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
                kWidth, top + kPlotHeight + 50);
  for (auto [number, line] : llvm::enumerate(header))
    drawText(os, 10, kLineHeight * double(number + 1) + 2, "start", line);
  drawAxes(os, x, y);
  auto drawDot = [&](double atX, double atY, llvm::StringRef color,
                     llvm::StringRef title) {
    os << formatv("<circle cx=\"{0:F1}\" cy=\"{1:F1}\" r=\"2.5\" fill=\"{2}\">",
                  atX, atY, color);
    if (!title.empty()) {
      os << "<title>";
      llvm::printHTMLEscaped(title, os);
      os << "</title>";
    }
    os << "</circle>\n";
  };
  for (const tune::Turn &turn : result.turns) {
    const tune::Trial &trial = result.trials[turn.trial];
    std::string title =
        formatv("{0}: {1:F1} us", trial.schedule, 1e6 * turn.seconds);
    if (!trial.verdict.empty())
      title += ", " + trial.verdict;
    drawDot(x.get(turn.elapsed), y.get(1e6 * turn.seconds),
            turn.trial == 0   ? own
            : !isRight(trial) ? wrong
                              : others,
            title);
  }
  if (!steps.empty()) {
    os << "<path fill=\"none\" stroke=\"" << bestColor
       << "\" stroke-width=\"2\" d=\"";
    for (auto [number, step] : llvm::enumerate(steps))
      os << formatv(number == 0 ? "M{0:F1} {1:F1}" : "H{0:F1}V{1:F1}",
                    x.get(step.elapsed), y.get(step.best));
    os << "\"/>\n";
  }
  double at = x.from;
  for (auto [color, what] : {std::pair<llvm::StringRef, llvm::StringRef>{
                                 own, "the compiler's choice"},
                             {others, "candidates"},
                             {wrong, "out for what they did"},
                             {bestColor, "best so far"}}) {
    drawDot(at + 4, legend, color, "");
    drawText(os, at + 12, legend + 4, "start", what);
    at += 170;
  }
  os << "</svg>\n";
  return text;
}
