// SPDX-License-Identifier: Apache-2.0
// The program as a user runs it.
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "drawing/files.hpp"
#include "support/safetensors_file.hpp"
#include "support/scratch.hpp"

namespace {

struct result {
  int status;
  std::string out, err;
};

// Runs the program in the folder; `environment` goes before the command.
result run(const scratch& folder, const std::string& arguments,
           const std::string& environment = "") {
  const std::string command = "cd '" + folder.path.string() + "' && " + environment + " '" +
                              FIGURES_PROGRAM + "' " + arguments + " > out.txt 2> err.txt";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, drawing::read_file(folder.path / "out.txt"),
          drawing::read_file(folder.path / "err.txt")};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

long lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

void write_model(const std::filesystem::path& path, bool post) {
  ebb::test::safetensors_file file;
  for (int l = 0; l < 3; ++l) {
    const std::string at = "layers." + std::to_string(l) + ".mixer.";
    if (!post) file.add(at + "A_log", {0, 1, 2, 3});
    if (post) file.add(at + "A_log_base", {-3}, true);
    if (post) file.add(at + "A_log_deltas", {1, 0.5f * static_cast<float>(l), 1});
  }
  ebb::test::write(path, file.content());
}

}  // namespace

TEST_CASE("without gnuplot: the table, the scripts and a sentence") {
  const scratch folder("figures_default");
  const result r = run(folder, "", "PATH=/nowhere");
  CHECK(r.status == 0);
  CHECK(r.err.empty());
  CHECK(contains(r.out, "gnuplot was not found"));
  CHECK(contains(r.out, "Mamba-2 PoST 180M: 24 layers of 24, timescales from 1 to 2048 steps"));
  const auto table = drawing::read_file(folder.path / "figures/timescales.csv");
  CHECK(
      table.starts_with("model,layer,channel,timescale,alpha\nMamba-2 180M,0,0,20,\n"
                        "Mamba-2 180M,0,1,10,\n"));
  CHECK(contains(table, "\nMamba-2 PoST 440M,47,31,1,0\n"));
  CHECK(lines(table) == 1 + 2 * (24 * 24 + 48 * 32));
  for (const char* const name : {"density", "layer", "layers", "taper"})
    CHECK(
        std::filesystem::exists(folder.path / "figures" / ("mamba2_" + std::string(name) + ".gp")));
  const auto drawn = drawing::read_file(folder.path / "figures/mamba2_layer.gp");
  CHECK(contains(drawn, "Timescales of layer 12, sorted"));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path / "figures")) {
    CHECK_FALSE(contains(entry.path().filename().string(), "tmp"));
    CHECK_FALSE(entry.path().filename().string().starts_with("."));
  }
  // The published inverse moves the fast end, and nothing else about the run.
  CHECK(run(folder, "--as-published --out b", "PATH=/nowhere").status == 0);
  CHECK(drawing::read_file(folder.path / "b/timescales.csv") != table);
}

TEST_CASE("where gnuplot fails: the table, what it said, and a status that says so") {
  const scratch folder("figures_failing");
  const auto program = folder.path / "gnuplot";
  drawing::write_atomically(program, "#!/bin/sh\necho no such terminal\nexit 1\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const result r = run(folder, "", "PATH=\"$PWD:$PATH\"");
  CHECK(r.status == 1);
  CHECK(contains(r.err, "gnuplot could not draw"));
  CHECK(contains(r.err, "no such terminal"));
  CHECK(std::filesystem::exists(folder.path / "figures/timescales.csv"));
  CHECK(contains(r.out, "0 pictures"));
}

TEST_CASE("from checkpoints") {
  const scratch folder("figures_checkpoints");
  std::filesystem::create_directories(folder.path / "some post");
  write_model(folder.path / "some post/model.safetensors", true);
  write_model(folder.path / "plain=1.safetensors", false);
  const result r = run(folder,
                       "--checkpoint 'some post/model.safetensors' --checkpoint "
                       "plain=1.safetensors --checkpoint 'a_\"b=plain=1.safetensors' --layer 2 "
                       "--train-length 1e3 --out a/b");
  CAPTURE(r.err);
  CHECK(r.status == 0);
  CHECK(contains(r.out, "some post: 3 layers of 4"));
  CHECK(contains(r.out, "plain-1: 3 layers of 4, timescales from 0.995741 to 20 steps, no taper"));
  CHECK(contains(r.out, "a_-b: 3 layers of 4"));
  const auto table = drawing::read_file(folder.path / "a/b/timescales.csv");
  CHECK(contains(table, "\nplain-1,2,0,20,\n"));
  CHECK(lines(table) == 1 + 3 * 3 * 4);
  // With gnuplot the pictures are there, without it a sentence.
  for (const char* const name : {"density", "layer", "layers", "taper"})
    for (const char* const kind : {".svg", ".png"}) {
      const bool drawn =
          std::filesystem::exists(folder.path / "a/b" / ("mamba2_" + std::string(name) + kind));
      CHECK(drawn != contains(r.out, "gnuplot was not found"));
    }
  SUBCASE("a model without taper has no such picture, and none of an earlier run") {
    CHECK(run(folder, "--checkpoint plain=1.safetensors --out a/b").status == 0);
    for (const char* const kind : {".gp", ".svg", ".png"})
      CHECK_FALSE(
          std::filesystem::exists(folder.path / "a/b" / ("mamba2_taper" + std::string(kind))));
    CHECK(std::filesystem::exists(folder.path / "a/b/mamba2_layers.gp"));
  }
  SUBCASE("two models of one name") {
    const result twice = run(folder,
                             "--checkpoint plain=1.safetensors --checkpoint "
                             "plain-1='some post/model.safetensors'");
    CHECK(twice.status == 2);
    CHECK(twice.err ==
          "figures: --checkpoint: need names that differ, got 'plain-1' twice; say LABEL=FILE\n");
  }
  SUBCASE("another model's parameters: status 1, a sentence, no folder") {
    const result wrong = run(folder, "--model rwkv7 --checkpoint plain=1.safetensors --out wrong");
    CHECK(wrong.status == 1);
    CHECK(wrong.err ==
          "figures: plain=1.safetensors: need tensors named w0_base (PoST) or w_lora ... bias "
          "(native), got none\n");
    CHECK_FALSE(std::filesystem::exists(folder.path / "wrong"));
  }
  SUBCASE("a file that is no checkpoint") {
    const result wrong = run(folder, "--checkpoint out.txt --out wrong");
    CHECK(wrong.status == 1);
    CHECK(lines(wrong.err) == 1);
    CHECK(contains(wrong.err, "out.txt: need"));
  }
}

TEST_CASE("bad options: one line, status 2, nothing written") {
  const scratch folder("figures_bad");
  std::string five;
  for (int i = 0; i < 5; ++i) five += " --checkpoint " + std::to_string(i) + "=out.txt";
  for (const std::string& bad : std::vector<std::string>{
           "--model mamba", "--train-length 2", "--train-length 1e13", "--train-length 2048.5",
           "--train-length nan", "--train-length x", "--layer -1", "--layer 24", "--layer 1.5",
           "--checkpoint none", "--checkpoint a=none", "--checkpoint", "--nothing", "extra",
           "--out err.txt", "--out /proc/none", "--out ''", five,
           "--as-published --checkpoint out.txt"}) {
    CAPTURE(bad);
    const result r = run(folder, bad);
    CHECK(r.status == 2);
    CHECK(lines(r.err) == 1);
    CHECK(r.err.starts_with("figures: "));
    CHECK(r.out.empty());
    CHECK_FALSE(std::filesystem::exists(folder.path / "figures"));
  }
  const result help = run(folder, "--help");
  CHECK(help.status == 0);
  CHECK(contains(help.out, "--train-length"));
  CHECK(help.err.empty());
}
