import PCastCodecs
import PCastCore

/// Converts a camera's bytes to samples. Only one thread may use it.
final class CapturedFrames {
    private enum Reader {
        case raw(RawFrameConverter, RawPixelFormat)
        case jpeg(MJPEGDecoder)
        case h264
    }

    private let reader: Reader
    private var passThrough = H264PassThrough()
    /// The decoder for H.264 that is not passed through.
    private var decoder: H264Decoder?
    private let format: NegotiatedFormat

    /// The size of the delivered frames. For JPEG and H.264, a camera may send another size than it reports. A size
    /// that occurs twice in a row is adopted.
    private(set) var dimensions: Dimensions
    private var differing: Dimensions?

    /// The reason why encoded frames are decoded although pass-through was requested.
    private(set) var transcodeReason: TranscodeReason?

    /// Creates a converter. With `passesThrough`, H.264 is not decoded. Throws `CodecError.missing`.
    init(_ format: NegotiatedFormat, passesThrough: Bool) throws(CodecError) {
        self.format = format
        dimensions = format.evenDimensions
        if let raw = format.code.raw {
            reader = .raw(RawFrameConverter(), raw)
        } else if format.code.isJPEG {
            reader = .jpeg(try MJPEGDecoder())
        } else {
            reader = .h264
            decoder = passesThrough ? nil : try H264Decoder()
        }
    }

    /// Whether a frame can be dropped without affecting the next ones. That is not the case for H.264.
    var areIndependent: Bool {
        switch reader {
        case .raw, .jpeg: true
        case .h264: false
        }
    }

    /// Whether frames are decoded here and not passed through.
    var areDecoded: Bool { areIndependent || decoder != nil }

    /// Returns the samples of a buffer; none for parameter sets or before a key frame. `isBroken` is whether a
    /// previous frame is missing. Throws `CodecError.damaged`.
    func samples(
        of bytes: UnsafeRawBufferPointer, isBroken: Bool, captureTime: WallTime, timestamp: MediaTime
    ) throws(CodecError) -> [VideoSample] {
        switch reader {
        case .raw(let converter, let pixels):
            let frame = try converter.convert(
                bytes, format: pixels, dimensions: format.dimensions, stride: format.stride,
                isFullRange: format.isFullRange, matrix: format.matrix, captureTime: captureTime, timestamp: timestamp)
            return [.frame(frame)]
        case .jpeg(let decoder):
            return [.frame(try validated(decoder.decode(bytes, captureTime: captureTime, timestamp: timestamp)))]
        case .h264:
            return try coded(Array(bytes), isBroken: isBroken, captureTime: captureTime, timestamp: timestamp)
        }
    }

    private func coded(
        _ bytes: [UInt8], isBroken: Bool, captureTime: WallTime, timestamp: MediaTime
    ) throws(CodecError) -> [VideoSample] {
        // After a missing frame, only a key frame can be decoded.
        let unit = H264AccessUnit(bytes)
        var frame: EncodedFrame?
        do {
            frame = try passThrough.pass(
                bytes, isDamaged: isBroken && !unit.isKeyFrame, timestamp: timestamp, captureTime: captureTime)
        } catch {
            transcodeReason = error
            frame = EncodedFrame(
                codec: .h264, bytes: bytes, isKeyFrame: unit.isKeyFrame, timestamp: timestamp, captureTime: captureTime)
            if decoder == nil { decoder = try H264Decoder() }
        }
        guard let frame else { return [] }
        guard let decoder else { return [.coded(frame)] }
        return try decoder.decode(frame).map { videoFrame throws(CodecError) in .frame(try validated(videoFrame)) }
    }

    private func validated(_ videoFrame: VideoFrame) throws(CodecError) -> VideoFrame {
        guard videoFrame.dimensions != dimensions else {
            differing = nil
            return videoFrame
        }
        guard differing == videoFrame.dimensions else {
            differing = videoFrame.dimensions
            throw .damaged("a frame of \(videoFrame.dimensions) among frames of \(dimensions)")
        }
        dimensions = videoFrame.dimensions
        differing = nil
        return videoFrame
    }
}
