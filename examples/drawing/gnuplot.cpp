// SPDX-License-Identifier: Apache-2.0
#include "drawing/gnuplot.hpp"

#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>

#include "drawing/files.hpp"
#include "drawing/text.hpp"

namespace drawing {
namespace {

// Line types that differ in dash, point and lightness, so that they are told apart in grey.
constexpr const char* preamble = R"(# Redraw with: gnuplot NAME.gp
if (!exists('prefix')) prefix = ''
set linetype 1 lc rgb '#000000' lw 1.4 dt 1 pt 5 ps 0.8
set linetype 2 lc rgb '#d95f02' lw 1.4 dt '-' pt 7 ps 0.8
set linetype 3 lc rgb '#1f78b4' lw 1.4 dt '.-' pt 9 ps 0.9
set linetype 4 lc rgb '#6a3d9a' lw 1.4 dt '_' pt 4 ps 0.8
set linetype 5 lc rgb '#33a02c' lw 1.4 dt '-..' pt 6 ps 0.8
set linetype 6 lc rgb '#e31a1c' lw 1.4 dt '..-' pt 8 ps 0.9
set linetype 7 lc rgb '#8c510a' lw 1.4 dt '--..' pt 12 ps 0.9
set linetype 8 lc rgb '#7f7f7f' lw 1.4 dt 1 pt 13 ps 0.9
set linetype 9 lc rgb '#01a5a5' lw 1.4 dt '-' pt 10 ps 0.9
set linetype 10 lc rgb '#c51b7d' lw 1.4 dt '.-' pt 11 ps 0.9
set linetype 11 lc rgb '#4d4d4d' lw 1.4 dt '_' pt 14 ps 0.9
set linetype 12 lc rgb '#b8860b' lw 1.4 dt '-..' pt 15 ps 0.9
set linetype cycle 12
set key outside right top vertical Left reverse samplen 3 spacing 1.15
set grid lc rgb '#dddddd' lt 1 dt 1
set border 3
set tics nomirror
)";

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + '\'';
}

// ": the first line that says something", or nothing.
std::string first_line_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.find_first_not_of(" \t") != std::string::npos) return ": " + line;
  return "";
}

}  // namespace

bool gnuplot_found() {
  const char* const path = std::getenv("PATH");
  if (path == nullptr) return false;
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code ignored;
    if (!folder.empty() &&
        std::filesystem::exists(std::filesystem::path(folder) / "gnuplot", ignored))
      return true;
  }
  return false;
}

std::string data_blocks(std::span<const series> all) {
  std::ostringstream text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    text << "$d" << i << " << EOD\n";
    for (const auto& [x, y] : all[i].points)
      text << significant(x, 10) << ' ' << significant(y, 10) << '\n';
    text << "EOD\n";
  }
  return text.str();
}

std::string plot_command(std::span<const series> all, std::size_t first) {
  std::ostringstream text;
  std::map<std::string, int> types;
  text << "  plot ";
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string key = all[i].key.empty() ? all[i].title : all[i].key;
    const int type = types.emplace(key, static_cast<int>(types.size()) + 1).first->second;
    if (i > 0) text << ", \\\n       ";
    text << "$d" << first + i << " with " << all[i].style << " lt " << type << ' ' << all[i].extra;
    if (all[i].title.empty())
      text << " notitle";
    else
      text << " title \"" << all[i].title << '"';
  }
  text << '\n';
  return text.str();
}

picture make_picture(const std::string& name, const std::string& data, const std::string& body,
                     int height) {
  std::ostringstream text;
  std::string head = preamble;
  head.replace(head.find("NAME"), 4, name);
  text << head << data << "do for [kind in 'svg png'] {\n"
       << "  if (kind eq 'svg') { set terminal svg size 920," << height
       << " font 'Helvetica,13' background rgb 'white' }\n"
       << "  if (kind eq 'png') { set terminal pngcairo size 1380," << height * 3 / 2
       << " font 'Sans,15' linewidth 1.4 pointscale 1.5 }\n"
       << "  set output prefix.'" << name << ".'.kind\n"
       << body << "  set output\n}\n";
  return {name, text.str()};
}

std::vector<std::string> draw(std::span<const picture> pictures,
                              const std::filesystem::path& folder, std::string& problem) {
  for (const auto& p : pictures) write_atomically(folder / (p.name + ".gp"), p.script);
  if (!gnuplot_found()) {
    problem =
        "No pictures: gnuplot was not found. Install it (apt-get install gnuplot-nox), then run "
        "the same command again.";
    return {};
  }
  std::vector<std::string> drawn;
  const std::string prefix = ".drawing-";
  for (const auto& p : pictures) {
    const std::string command = "unset CDPATH; cd -- " + shell_quoted(folder.string()) +
                                " && gnuplot -e \"prefix='" + prefix + "'\" " + p.name + ".gp > " +
                                prefix + "messages 2>&1";
    const int status = std::system(command.c_str());
    bool good = status == 0;
    // Ctrl-C reaches the shell and gnuplot alone: std::system has this program ignore it meanwhile.
    const bool interrupted = (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) ||
                             (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGINT);
    for (const char* const kind : {".svg", ".png"}) {
      std::error_code failed;
      const auto made = folder / (prefix + p.name + kind);
      if (good) std::filesystem::rename(made, folder / (p.name + kind), failed);
      good = good && !failed;
      std::filesystem::remove(made, failed);
    }
    if (good)
      drawn.push_back(p.name);
    else
      problem = "gnuplot could not draw " + (folder / (p.name + ".gp")).string() +
                first_line_of(folder / (prefix + "messages"));
    if (interrupted) {
      std::error_code ignored;
      std::filesystem::remove(folder / (prefix + "messages"), ignored);
      std::signal(SIGINT, SIG_DFL);
      std::raise(SIGINT);
    }
  }
  std::error_code ignored;
  std::filesystem::remove(folder / (prefix + "messages"), ignored);
  return drawn;
}

}  // namespace drawing
