#pragma once

#include <libyuv/convert.h>
#include <libyuv/convert_argb.h>
#include <libyuv/convert_from.h>
#include <libyuv/planar_functions.h>
#include <libyuv/rotate.h>
#include <libyuv/scale.h>
#include <libyuv/scale_argb.h>

// Converts I420 of limited range to BGRA in memory with the matrix of BT.709 (709) or BT.601 (any other value).
static inline int cyuv_bgra(
    const uint8_t *y, int stride_y, const uint8_t *u, int stride_u, const uint8_t *v, int stride_v, uint8_t *bgra,
    int stride_bgra, int matrix, int width, int height) {
    return I420ToARGBMatrix(
        y, stride_y, u, stride_u, v, stride_v, bgra, stride_bgra,
        matrix == 709 ? &kYuvH709Constants : &kYuvI601Constants, width, height);
}

// Converts to RGBA in memory: libyuv does so if U and V are exchanged and the matrix is one for exchanged components.
static inline int cyuv_rgba(
    const uint8_t *y, int stride_y, const uint8_t *u, int stride_u, const uint8_t *v, int stride_v, uint8_t *rgba,
    int stride_rgba, int matrix, int width, int height) {
    return I420ToARGBMatrix(
        y, stride_y, v, stride_v, u, stride_u, rgba, stride_rgba,
        matrix == 709 ? &kYvuH709Constants : &kYvuI601Constants, width, height);
}
