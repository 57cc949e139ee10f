import CFFmpeg
import CYUV
package import PCastCore

/// An image with transparency that is drawn over frames: RGBA, 8 bits each, premultiplied by alpha as browsers produce
/// it.
package final class Graphic: @unchecked Sendable {  // the pixels are written only before `init` returns
    /// The size of the image.
    package let dimensions: Dimensions
    /// The pixels in rows of `4 * dimensions.width` bytes.
    let pixels: UnsafeMutablePointer<UInt8>
    /// Whether it is fully transparent.
    package let isEmpty: Bool

    /// The largest image that is decoded.
    private static let most = Dimensions(width: 4_096, height: 4_096)

    deinit { pixels.deallocate() }

    /// Decodes a PNG file with premultiplied colors, such as those of Chromium's screencast. Throws
    /// `CodecError.damaged` for an invalid file, `CodecError.unsupported` for more than 4,096 pixels in width or
    /// height, or `CodecError.missing`.
    package init(premultipliedPNG bytes: [UInt8]) throws(CodecError) {
        let frame = try Self.decode(bytes)
        let (width, height) = (Int(frame.pointer.pointee.width), Int(frame.pointer.pointee.height))
        dimensions = Dimensions(width: width, height: height)
        pixels = .allocate(capacity: width * height * 4)
        do {
            try Self.convert(frame, into: pixels)
        } catch {
            pixels.deallocate()
            throw error
        }
        isEmpty = (0..<width * height).allSatisfy { [pixels] in pixels[4 * $0 + 3] == 0 }
    }

    private static func decode(_ bytes: [UInt8]) throws(CodecError) -> AVFrameHolder {
        guard let codec = avcodec_find_decoder(AV_CODEC_ID_PNG) else { throw .missing("a decoder of PNG") }
        let context = AVCodecContextHolder(codec)
        context.pointer.pointee.thread_count = 1
        context.pointer.pointee.err_recognition = AV_EF_EXPLODE
        context.pointer.pointee.max_pixels = Int64(most.width * most.height)
        try context.open(codec)
        let packet = AVPacketHolder()
        // libavcodec reads beyond the end, so the bytes are copied to padded memory.
        let allocated = av_new_packet(packet.pointer, Int32(clamping: bytes.count))
        guard allocated >= 0 else { throw .failed("decoding an image", reason: CodecError.reason(allocated)) }
        defer { av_packet_unref(packet.pointer) }
        bytes.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(start: packet.pointer.pointee.data, count: bytes.count).copyMemory(from: $0)
        }
        let frame = AVFrameHolder()
        for result in [
            avcodec_send_packet(context.pointer, packet.pointer),
            avcodec_receive_frame(context.pointer, frame.pointer),
        ] where result < 0 {
            throw .damaged("a graphic: \(CodecError.reason(result))")
        }
        let size = Dimensions(width: Int(frame.pointer.pointee.width), height: Int(frame.pointer.pointee.height))
        guard size.width <= most.width, size.height <= most.height else {
            throw .unsupported("an image has at most \(most) pixels, not \(size)")
        }
        return frame
    }

    private static func convert(_ frame: AVFrameHolder, into pixels: UnsafeMutablePointer<UInt8>) throws(CodecError) {
        let (width, height) = (frame.pointer.pointee.width, frame.pointer.pointee.height)
        let scaler = sws_getContext(
            width, height, AVPixelFormat(frame.pointer.pointee.format), width, height, AV_PIX_FMT_RGBA, SWS_POINT,
            nil,
            nil, nil)
        defer { sws_freeContext(scaler) }
        guard let scaler else {
            throw .unsupported("the image cannot be converted to RGBA: save it as PNG with 8 bits per channel")
        }
        let image = frame.pointer.pointee
        var source: [UnsafePointer<UInt8>?] = [
            UnsafePointer(image.data.0), UnsafePointer(image.data.1), UnsafePointer(image.data.2),
            UnsafePointer(image.data.3),
        ]
        var strides = [image.linesize.0, image.linesize.1, image.linesize.2, image.linesize.3]
        var target: [UnsafeMutablePointer<UInt8>?] = [pixels, nil, nil, nil]
        var targetStrides: [Int32] = [4 * width, 0, 0, 0]
        sws_scale(scaler, &source, &strides, 0, height, &target, &targetStrides)
    }
}
