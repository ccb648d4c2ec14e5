# SPDX-License-Identifier: Apache-2.0
# Pictures of how the scan's cost grows: gnuplot -e "data='columns.tsv'; prefix='docs/pictures/'" bench/plots.gp
# The data comes from bench_scan --columns. Lines whose rows were not measured are left out.
if (!exists('prefix')) prefix = ''
if (!exists('backend')) backend = 'simd'  # rows where there is no xsimd
set datafile separator tab
set datafile missing NaN
set terminal svg size 920,460 font 'Helvetica,13' background rgb 'white'
set linetype 1 lc rgb '#000000' lw 1.4 dt 1 pt 5 ps 0.8
set linetype 2 lc rgb '#d95f02' lw 1.4 dt '-' pt 7 ps 0.8
set linetype 3 lc rgb '#1f78b4' lw 1.4 dt '.-' pt 9 ps 0.9
set linetype 4 lc rgb '#6a3d9a' lw 1.4 dt '_' pt 4 ps 0.8
set linetype 5 lc rgb '#33a02c' lw 1.4 dt '-..' pt 6 ps 0.8
set linetype 6 lc rgb '#e31a1c' lw 1.4 dt '..-' pt 8 ps 0.9
set key outside right top vertical Left reverse samplen 3 spacing 1.15
set grid lc rgb '#dddddd' lt 1 dt 1
set border 3
set tics nomirror

# y where a row is of this backend, decay and layout, in float; else nothing.
is(backend, decay, layout) = strcol('backend') eq backend && strcol('decay') eq decay \
  && strcol('layout') eq layout && strcol('type') eq 'float'
cost(wanted) = wanted ? column('ns_per_element') : NaN
ceiling(wanted) = wanted ? column('ns_per_element') * column('of_triad') : NaN
T = 'T'; N = 'N'

set logscale xy
set format x '10^{%L}'
set ylabel 'ns an element'
set yrange [*:*]

set output prefix.'scan_steps.svg'
set title 'One thread, float, channels adjacent: cost an element against the length'
set xlabel 'steps T'
one(n, decay) = is(backend, decay, 'time_major') && column(N) == n
row(n, decay) = cost(one(n, decay))
plot \
  data using T:(row(1, 'stored')) with linespoints lt 1 title 'stored, N = 1', \
  data using T:(row(16, 'stored')) with linespoints lt 6 title 'stored, N = 16', \
  data using T:(row(128, 'stored')) with linespoints lt 2 title 'stored, N = 128', \
  data using T:(ceiling(one(128, 'stored'))) with lines lt 5 title 'triad of N = 128', \
  data using T:(row(128, 'post_relative_1')) with linespoints lt 3 title 'PoST from 1, N = 128', \
  data using T:(row(128, 'post_relative_10000')) with linespoints lt 4 title 'PoST from 10000, N = 128'

set output prefix.'scan_channels.svg'
set title 'One thread, float, T = 4096: cost an element against the channels'
set xlabel 'channels N'
set format x '%g'
here(decay, layout) = is(backend, decay, layout) && column(T) == 4096
at(decay, layout) = cost(here(decay, layout))
plot \
  data using N:(at('stored', 'time_major')) with linespoints lt 1 title 'stored', \
  data using N:(ceiling(here('stored', 'time_major'))) with lines lt 6 title 'triad', \
  data using N:(at('stored', 'channel_major')) with linespoints lt 2 title 'stored, steps adjacent', \
  data using N:(at('constant', 'time_major')) with linespoints lt 3 title 'constant', \
  data using N:(at('post_relative_1', 'time_major')) with linespoints lt 4 title 'PoST from 1', \
  data using N:(at('post_relative_10000', 'time_major')) with linespoints lt 5 title 'PoST from 10000'

set output prefix.'scan_threads.svg'
set title 'Stored decays, float: speed-up by threads, wall time'
set xlabel 'threads'
set ylabel 'time of one thread over that of all'
unset logscale
set xrange [0:*]
set yrange [0:*]
set xtics 1
several(t, n) = strcol('backend')[1:7] eq 'threads' && strcol('decay') eq 'stored' \
  && strcol('type') eq 'float' && strcol('layout') eq 'time_major' && column('threads') > 1 \
  && column(T) == t && column(N) == n ? 1 / column('threads_over_one') : NaN
plot \
  data using 'threads':(several(1000000, 1)) with linespoints lt 1 title 'T = 1e6, N = 1', \
  data using 'threads':(several(4096, 128)) with linespoints lt 2 title 'T = 4096, N = 128', \
  data using 'threads':(several(100000, 128)) with linespoints lt 3 title 'T = 1e5, N = 128', \
  data using 'threads':(several(4096, 768)) with linespoints lt 4 title 'T = 4096, N = 768'
set output
