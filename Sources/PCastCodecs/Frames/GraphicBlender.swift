import CFFmpeg
import CYUV
package import PCastCore

/// Draws graphics over frames (libyuv). Only one thread may use it at a time.
///
/// It converts a graphic to the size and color of the frames once and reuses the result.
package final class GraphicBlender {
    private let pool = VideoFramePool()
    private var layer: GraphicLayer?

    /// Creates a blender.
    package init() {}

    /// Returns the frame with the graphic stretched over all of it; the same frame if the graphic is fully transparent.
    /// Throws `CodecError.failed` if memory is exhausted.
    package func blend(_ graphic: Graphic, over frame: VideoFrame) throws(CodecError) -> VideoFrame {
        if graphic.isEmpty { return frame }
        let layer: GraphicLayer
        if let kept = self.layer, kept.graphic === graphic, kept.dimensions == frame.dimensions,
            kept.matrix == frame.matrix
        {
            layer = kept
        } else {
            layer = try GraphicLayer(graphic, like: frame)
            self.layer = layer
        }
        let target = pool.frame(
            dimensions: frame.dimensions, captureTime: frame.captureTime, timestamp: frame.timestamp,
            color: frame.color)
        let (planes, strides) = (layer.videoFrame.pointer.pointee.data, layer.videoFrame.pointer.pointee.linesize)
        let (strideY, strideUV) = (Int32(frame.strideY), Int32(frame.strideUV))
        let result = I420Blend(
            planes.0, strides.0, planes.1, strides.1, planes.2, strides.2, frame.planeY, strideY, frame.planeU,
            strideUV,
            frame.planeV, strideUV, planes.3, strides.3, target.planeY, strideY, target.planeU, strideUV, target.planeV,
            strideUV, Int32(frame.dimensions.width), Int32(frame.dimensions.height))
        precondition(result == 0, "libyuv rejects no frame with a valid size")
        return target
    }
}

/// A graphic that is converted for frames of one size and matrix: three planes and an alpha plane, not premultiplied.
private final class GraphicLayer {
    let graphic: Graphic
    let dimensions: Dimensions
    let matrix: MatrixCoefficients
    let videoFrame = AVFrameHolder()

    init(_ graphic: Graphic, like frame: VideoFrame) throws(CodecError) {
        (self.graphic, dimensions, matrix) = (graphic, frame.dimensions, frame.matrix)
        let (width, height) = (Int32(dimensions.width), Int32(dimensions.height))
        let stride = 4 * dimensions.width
        let colours = UnsafeMutablePointer<UInt8>.allocate(capacity: stride * dimensions.height)
        defer { colours.deallocate() }
        // It is scaled while premultiplied, so that the colors of transparent pixels do not bleed. The order of red and
        // blue does not matter here.
        let scaled = ARGBScale(
            graphic.pixels, Int32(4 * graphic.dimensions.width), Int32(graphic.dimensions.width),
            Int32(graphic.dimensions.height), colours, Int32(stride), width, height, kFilterBox)
        precondition(scaled == 0, "libyuv rejects no frame with a valid size")
        ARGBUnattenuate(colours, Int32(stride), colours, Int32(stride), width, height)
        videoFrame.pointer.pointee.format = AV_PIX_FMT_YUVA420P.rawValue
        (videoFrame.pointer.pointee.width, videoFrame.pointer.pointee.height) = (width, height)
        let scaler = sws_getContext(
            width, height, AV_PIX_FMT_RGBA, width, height, AV_PIX_FMT_YUVA420P, SWS_BILINEAR, nil, nil, nil)
        defer { sws_freeContext(scaler) }
        guard av_frame_get_buffer(videoFrame.pointer, 0) >= 0, let scaler else {
            throw .failed("blending an image over frames", reason: "out of memory")
        }
        let table = sws_getCoefficients(matrix == .bt709 ? SWS_CS_ITU709 : SWS_CS_DEFAULT)
        sws_setColorspaceDetails(scaler, sws_getCoefficients(SWS_CS_DEFAULT), 1, table, 0, 0, 1 << 16, 1 << 16)
        let image = videoFrame.pointer.pointee
        var source: [UnsafePointer<UInt8>?] = [UnsafePointer(colours), nil, nil, nil]
        var sourceStrides: [Int32] = [Int32(stride), 0, 0, 0]
        var target: [UnsafeMutablePointer<UInt8>?] = [image.data.0, image.data.1, image.data.2, image.data.3]
        var targetStrides = [image.linesize.0, image.linesize.1, image.linesize.2, image.linesize.3]
        sws_scale(scaler, &source, &sourceStrides, 0, height, &target, &targetStrides)
    }
}
