# SPDX-License-Identifier: Apache-2.0
# Draws long_memory.txt of the working directory as .long_memory.svg, which picture.hpp renames.
stats 'long_memory.txt' index 1 using 3 nooutput
certified = 1e7 * STATS_max
set terminal svg size 920,640 font 'Helvetica,13' background rgb 'white'
set output '.long_memory.svg'
set linetype 1 lc rgb '#000000' lw 1.4 dt 1
set linetype 2 lc rgb '#d95f02' lw 1 dt 1
set linetype 3 lc rgb '#d95f02' lw 1.4 dt '-'
set grid lc rgb '#dddddd' lt 1 dt 1
set border 3
set tics nomirror
set multiplot

set size 1,0.54
set origin 0,0.46
set title 'Dollars to the euro: volatility, forecast for the next day'
set ylabel 'volatility (% a year)'
set xlabel 'year'
set xrange [1999:2019]
set xtics 2
set yrange [0:30]
set key top right horizontal
plot 'long_memory.txt' index 0 using 1:3 with lines lt 2 title 'one exponential average (0.94 a day)', \
     '' index 0 using 1:2 with lines lt 1 title 'power law, by 24 averages'

unset key
set size 0.5,0.46
set origin 0.5,0
set title 'Forecast variance: relative error (dashed: certified)'
set ylabel 'relative error (10^{-7})'
set yrange [-12:12]
set xtics 4
plot 'long_memory.txt' index 0 using 1:(1e7 * $4) with lines lt 1, \
     certified with lines lt 3, -certified with lines lt 3

set origin 0,0
set title 'Weights: relative error (dashed: certified)'
set xlabel 'lag (days)'
set logscale x
set format x '10^{%T}'
set xrange [1:1e5]
set xtics autofreq
plot 'long_memory.txt' index 1 using 1:(1e7 * $2) with lines lt 1, \
     certified with lines lt 3, -certified with lines lt 3
unset multiplot
