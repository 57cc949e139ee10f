import PCastCodecs
import PCastMedia

/// Makes samples of a camera's bytes. Used by one thread.
final class CapturedPictures {
    private enum Reader {
        case raw(RawPictureConverter, RawPixelFormat)
        case jpeg(MJPEGDecoder)
        case h264
    }

    private let reader: Reader
    private var passThrough = H264PassThrough()
    /// Of H.264 that is not passed on.
    private var decoder: H264Decoder?
    private let format: NegotiatedFormat

    /// Of the pictures that are delivered. A camera may say one size and send another in JPEG or H.264; what it sends
    /// twice running is believed.
    private(set) var dimensions: Dimensions
    private var differing: Dimensions?

    /// Why coded pictures are decoded although they were to be passed on.
    private(set) var obstacle: PassThroughObstacle?

    /// - Parameter passesThrough: H.264 as it is.
    init(_ format: NegotiatedFormat, passesThrough: Bool) throws(CodecError) {
        self.format = format
        dimensions = format.evenDimensions
        if let raw = format.code.raw {
            reader = .raw(RawPictureConverter(), raw)
        } else if format.code.isJPEG {
            reader = .jpeg(try MJPEGDecoder())
        } else {
            reader = .h264
            decoder = passesThrough ? nil : try H264Decoder()
        }
    }

    /// Whether each picture can be left out without harm to the next (COD11).
    var areIndependent: Bool {
        switch reader {
        case .raw, .jpeg: true
        case .h264: false
        }
    }

    /// Whether pictures are seen here, and not only passed on.
    var areDecoded: Bool { areIndependent || decoder != nil }

    /// - Parameter isBroken: whether a picture before this one is missing.
    /// - Returns: nothing for what belongs to the next picture, or waits for a key frame.
    /// - Throws: `CodecError.damaged`.
    func samples(
        of bytes: UnsafeRawBufferPointer, isBroken: Bool, captureTime: WallTime, timestamp: MediaTime
    ) throws(CodecError) -> [VideoSample] {
        switch reader {
        case .raw(let converter, let pixels):
            let frame = try converter.convert(
                bytes, format: pixels, dimensions: format.dimensions, stride: format.stride,
                isFullRange: format.isFullRange, matrix: format.matrix, captureTime: captureTime, timestamp: timestamp)
            return [.picture(frame)]
        case .jpeg(let decoder):
            return [.picture(try believed(decoder.decode(bytes, captureTime: captureTime, timestamp: timestamp)))]
        case .h264:
            return try coded(Array(bytes), isBroken: isBroken, captureTime: captureTime, timestamp: timestamp)
        }
    }

    private func coded(
        _ bytes: [UInt8], isBroken: Bool, captureTime: WallTime, timestamp: MediaTime
    ) throws(CodecError) -> [VideoSample] {
        // After a picture that is missing, only a key frame is of use.
        let unit = H264AccessUnit(bytes)
        var frame: EncodedFrame?
        do {
            frame = try passThrough.pass(
                bytes, isDamaged: isBroken && !unit.isKeyFrame, timestamp: timestamp, captureTime: captureTime)
        } catch {
            obstacle = error
            frame = EncodedFrame(
                codec: .h264, bytes: bytes, isKeyFrame: unit.isKeyFrame, timestamp: timestamp, captureTime: captureTime)
            if decoder == nil { decoder = try H264Decoder() }
        }
        guard let frame else { return [] }
        guard let decoder else { return [.coded(frame)] }
        return try decoder.decode(frame).map { picture throws(CodecError) in .picture(try believed(picture)) }
    }

    private func believed(_ picture: VideoFrame) throws(CodecError) -> VideoFrame {
        guard picture.dimensions != dimensions else {
            differing = nil
            return picture
        }
        guard differing == picture.dimensions else {
            differing = picture.dimensions
            throw .damaged("a picture of \(picture.dimensions) among those of \(dimensions)")
        }
        dimensions = picture.dimensions
        differing = nil
        return picture
    }
}
