#!/bin/sh
grep -q heddle.layer_norm "$1"
