#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml 7.3
# timeout: 1200
# needs: sroce tests source
#
# The fast part of make accept: rdma-core's tests on a distribution kernel,
# other people's programs and the kernel's selftests where they take least
# time. What is skipped or fails without a line in explained.txt is a failure.
. "$(dirname "$0")/lib.sh"

ACCEPT=$TEST_SRC/scripts/accept

# explained SUITE CASE
explained() {
	local suite pattern reason
	while IFS='|' read -r suite pattern reason; do
		# shellcheck disable=SC2053  # a pattern
		[ "${suite%% *}" = "$1" ] && [[ $2 == ${pattern:1:-1} ]] &&
			[ -n "$reason" ] && return 0
	done < <(grep '|' "$ACCEPT/explained.txt" | grep -v '^#')
	return 1
}

# run NAME: a suite's cases become cases of this one
run() {
	local line name why plan=
	while IFS= read -r line; do
		name=${line#* - }
		why=${name##* # SKIP }
		name=${name%% # SKIP *}
		case $line in
		"ok "*" # SKIP "*)
			if explained "$1" "$name"; then
				skip "$1: $name" "$why"
			else
				not_ok "$1: $name is skipped: $why"
			fi ;;
		"ok "*) ok "$1: $name" ;;
		"not ok "*)
			name=${name% (status *)}
			if explained "$1" "$name"; then
				skip "$1: $name" "explained"
			else
				not_ok "$1: $name"
			fi ;;
		1..*) plan=1 ;;
		*) printf '# %s\n' "${line#\# }" ;;
		esac
	done < <(bash "$ACCEPT/$1.sh" 2>&1)
	[ -n "$plan" ]
	verdict $? "$1: ran to its end"
}

case $MACHINE in
uml*) SUITES="selftests verbs rdmacm qperf fio" ;;
*) SUITES="pyverbs" ;;
esac
for suite in $SUITES; do
	run "$suite"
done
done_testing
