import CYUV
import PCastCore

/// A raw frame in a device's or an application's memory. libyuv can read it from any even row on.
struct RawFrame {
    let format: RawPixelFormat
    let first: UnsafePointer<UInt8>
    let second: UnsafePointer<UInt8>
    /// The third of three planes; otherwise equal to `second`.
    let third: UnsafePointer<UInt8>
    let stride: Int32
    let chromaStride: Int32

    /// Refers to a device's buffer, in which the planes follow each other.
    init(format: RawPixelFormat, base: UnsafePointer<UInt8>, layout: RawFrameLayout) {
        self.init(
            format: format, first: base, second: base + layout.secondPlane, third: base + layout.thirdPlane,
            stride: Int32(layout.stride), chromaStride: Int32(layout.chromaStride))
    }

    init(
        format: RawPixelFormat, first: UnsafePointer<UInt8>, second: UnsafePointer<UInt8>,
        third: UnsafePointer<UInt8>, stride: Int32, chromaStride: Int32
    ) {
        self.format = format
        self.first = first
        self.second = second
        self.third = third
        self.stride = stride
        self.chromaStride = chromaStride
    }

    func luma(_ row: Int) -> UnsafePointer<UInt8> { first + row * Int(stride) }

    /// Returns the offset of a row's chroma samples in their plane.
    func chromaOffset(_ row: Int) -> Int {
        let isHalfHeight =
            switch format.arrangement {
            case .packed: false
            case .semiPlanar(let isHalfHeight), .planar(let isHalfHeight): isHalfHeight
            }
        return Int(chromaStride) * (isHalfHeight ? row / 2 : row)
    }

    /// Converts a strip of a YUV format other than `nv16` and `nv61`. For formats with V before U, the targets are
    /// exchanged. Returns libyuv's result, 0 for success.
    func convertLuma(into strip: FrameRows) -> Int32 {
        let (y, u, v) = (strip.y, strip.u, strip.v)
        let (strideY, strideUV, width, height) = (strip.strideY, strip.strideUV, strip.width, strip.height)
        let luma = luma(strip.row)
        switch format {
        case .yuyv: return YUY2ToI420(luma, stride, y, strideY, u, strideUV, v, strideUV, width, height)
        case .yvyu: return YUY2ToI420(luma, stride, y, strideY, v, strideUV, u, strideUV, width, height)
        case .uyvy: return UYVYToI420(luma, stride, y, strideY, u, strideUV, v, strideUV, width, height)
        case .vyuy: return UYVYToI420(luma, stride, y, strideY, v, strideUV, u, strideUV, width, height)
        case .grey: return I400ToI420(luma, stride, y, strideY, u, strideUV, v, strideUV, width, height)
        default: break
        }
        let offset = chromaOffset(strip.row)
        let (second, third) = (second + offset, third + offset)
        switch format {
        case .nv12:
            return NV12ToI420(
                luma, stride, second, chromaStride, y, strideY, u, strideUV, v, strideUV, width, height)
        case .nv21:
            return NV12ToI420(
                luma, stride, second, chromaStride, y, strideY, v, strideUV, u, strideUV, width, height)
        case .i420:
            return I420Copy(
                luma, stride, second, chromaStride, third, chromaStride, y, strideY, u, strideUV, v, strideUV, width,
                height)
        case .yv12:
            return I420Copy(
                luma, stride, second, chromaStride, third, chromaStride, y, strideY, v, strideUV, u, strideUV, width,
                height)
        case .i422:
            // I422ToI420 is not used: for a single chroma column, its scaler takes one row in place of the mean of two.
            CopyPlane(luma, stride, y, strideY, width, height)
            let results = [(second, u), (third, v)].map { plane, target in
                InterpolatePlane(
                    plane, 2 * chromaStride, plane + Int(chromaStride), 2 * chromaStride, target, strideUV,
                    width / 2, height / 2, 128)
            }
            return results[0] | results[1]
        default: preconditionFailure("\(format) must be converted by another function")
        }
    }

    /// Converts a strip of an RGB format. libyuv names formats by little-endian words: its ARGB is B, G, R, A in
    /// memory, its RGB24 is B, G, R, and its RAW is R, G, B. Returns libyuv's result, 0 for success.
    func convertRGB(into strip: FrameRows) -> Int32 {
        let (y, u, v) = (strip.y, strip.u, strip.v)
        let (strideY, strideUV, width, height) = (strip.strideY, strip.strideUV, strip.width, strip.height)
        let pixels = luma(strip.row)
        switch format {
        case .bgra, .bgrx: return ARGBToI420(pixels, stride, y, strideY, u, strideUV, v, strideUV, width, height)
        case .rgba, .rgbx: return ABGRToI420(pixels, stride, y, strideY, u, strideUV, v, strideUV, width, height)
        case .argb, .xrgb: return BGRAToI420(pixels, stride, y, strideY, u, strideUV, v, strideUV, width, height)
        case .bgr24: return RGB24ToI420(pixels, stride, y, strideY, u, strideUV, v, strideUV, width, height)
        case .rgb24: return RAWToI420(pixels, stride, y, strideY, u, strideUV, v, strideUV, width, height)
        case .rgb565: return RGB565ToI420(pixels, stride, y, strideY, u, strideUV, v, strideUV, width, height)
        case .xrgb1555: return ARGB1555ToI420(pixels, stride, y, strideY, u, strideUV, v, strideUV, width, height)
        default: preconditionFailure("\(format) must be converted by another function")
        }
    }
}

/// The offsets of the planes in a raw frame.
struct RawFrameLayout {
    /// The size of the converted frame, even numbers.
    let dimensions: Dimensions
    let stride: Int
    let chromaStride: Int
    /// The offset of the second plane, followed by the third one; 0 if there are none.
    let secondPlane: Int
    let thirdPlane: Int
    let byteCount: Int

    private static let longestSide = 16_384
    private static let longestStride = 1 << 20

    /// Computes the layout. The stride is 0 for rows without padding. Returns nil for sizes outside 2...16,384 and
    /// strides shorter than a row or longer than 1 MiB.
    init?(_ format: RawPixelFormat, dimensions requested: Dimensions, stride: Int) {
        guard (2...Self.longestSide).contains(requested.width), (2...Self.longestSide).contains(requested.height) else {
            return nil
        }
        dimensions = Dimensions(width: requested.width & ~1, height: requested.height & ~1)
        let rowBytes = format.minimumStride(width: dimensions.width)
        self.stride = stride == 0 ? format.minimumStride(width: requested.width) : stride
        guard (rowBytes...Self.longestStride).contains(self.stride) else { return nil }
        let (colourRows, colourRowBytes): (Int, Int)
        switch format.arrangement {
        case .packed:
            (chromaStride, secondPlane, thirdPlane) = (0, 0, 0)
            byteCount = self.stride * (dimensions.height - 1) + rowBytes
            return
        case .semiPlanar(let isHalfHeight):
            colourRows = isHalfHeight ? dimensions.height / 2 : dimensions.height
            chromaStride = self.stride
            secondPlane = self.stride * requested.height
            thirdPlane = secondPlane
            colourRowBytes = dimensions.width
        case .planar(let isHalfHeight):
            colourRows = isHalfHeight ? dimensions.height / 2 : dimensions.height
            chromaStride = (self.stride + 1) / 2
            secondPlane = self.stride * requested.height
            thirdPlane = secondPlane + chromaStride * (isHalfHeight ? (requested.height + 1) / 2 : requested.height)
            colourRowBytes = dimensions.width / 2
        }
        byteCount = thirdPlane + chromaStride * (colourRows - 1) + colourRowBytes
    }
}
