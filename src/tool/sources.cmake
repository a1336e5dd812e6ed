# SPDX-License-Identifier: MIT
# The program; then what is of tune, and what is of watching a process.
list(APPEND tool_sources
  src/tool/command.c
  src/tool/dashboard.c
  src/tool/load.c
  src/tool/load_draw.c
  src/tool/load_futures.c
  src/tool/load_tally.c
  src/tool/load_threads.c
  src/tool/main.c
  src/tool/nearest.c
  src/tool/options.c
  src/tool/run.c
  src/tool/run_json.c
  src/tool/run_report.c
  src/tool/stop.c
  src/tool/target.c
  src/tool/target_http.c
  src/tool/target_mariadb.c
  src/tool/target_pq.c
  src/tool/target_redis.c
  src/tool/target_sqlite.c
  src/tool/terminal.c
  src/tool/text_json.c
  src/tool/words.c)
list(APPEND tool_sources
  src/tool/curve.c
  src/tool/knee.c
  src/tool/report.c
  src/tool/report_chart.c
  src/tool/report_json.c
  src/tool/report_style.c
  src/tool/sweep.c
  src/tool/tune.c
  src/tool/tune_measure.c
  src/tool/tune_show.c
  src/tool/tune_words.c)
list(APPEND tool_sources
  src/tool/address.c
  src/tool/client.c
  src/tool/client_words.c
  src/tool/explain.c
  src/tool/explain_advice.c
  src/tool/metrics.c
  src/tool/model.c
  src/tool/model_tree.c
  src/tool/news.c
  src/tool/screen.c
  src/tool/top.c
  src/tool/top_control.c
  src/tool/top_feed.c
  src/tool/top_keys.c
  src/tool/top_live.c
  src/tool/view.c
  src/tool/view_detail.c
  src/tool/view_panes.c
  src/tool/view_text.c)
