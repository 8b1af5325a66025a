#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: uml-debug
# timeout: 480
# needs: kunit
#
# The unit tests of the pure protocol core: loads the module and turns what
# KUnit says in the kernel log into TAP. Every KUnit suite that begins must also
# end, with as many cases as its plan says.

module=$(find "$MODULES" -name sroce_kunit.ko)
if [ -z "$module" ]; then
	echo "not ok 1 - no sroce_kunit.ko in $MODULES"
	echo "1..1"
	exit 1
fi
dmesg -C
insmod "$module"
loaded=$?
dmesg --notime | tee "${TEST_OUT:-/out}/kunit.log" | awk -v loaded="$loaded" '
	function result(good, name)
	{
		printf "%sok %d - %s\n", good ? "" : "not ", ++n, name
		bad += !good
	}
	{ sub(/^\[[ 0-9.]*\] /, "") }
	/^    # Subtest: / {
		suite = $3
		begun++
		cases = plan = 0
		next
	}
	/^    1\.\.[0-9]+$/ { plan = substr($1, 4); next }
	/^    (not )?ok [0-9]+ / {
		good = $1 == "ok"
		skipped = / # SKIP/ ? " # SKIP" : ""
		result(good, suite ": " (good ? $3 : $4) skipped)
		cases++
		next
	}
	/^(not )?ok [0-9]+ / && suite != "" {
		if (cases != plan)
			result(0, suite ": " cases " cases of " plan " were run")
		ended++
		next
	}
	/^ +# / { print }
	END {
		result(loaded == 0, "insmod sroce_kunit.ko")
		result(begun > 0 && begun == ended,
		       "all suites end: " ended " of " begun)
		print "1.." n
		exit bad > 0
	}'
