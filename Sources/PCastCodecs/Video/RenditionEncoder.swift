package import PCastCore

/// Decodes the video of a stream once, and encodes each of its renditions from that. Only one thread may use it at a time.
///
/// Frames of renditions have the timestamps and capture times of their source's frames. Frames of a source with B-frames
/// come in decoding order, and those of its renditions in presentation order.
package final class RenditionEncoder {
    /// A rendition to make.
    package struct Target: Hashable, Sendable {
        /// The number by which the rendition is known.
        package let number: Int
        /// The length of the shorter side in pixels; 0 for the size of the source.
        package let height: Int
        /// The target bit rate; 0 for that of the ladder for its size.
        package let bitrate: Bitrate

        /// Creates a target.
        package init(number: Int, height: Int, bitrate: Bitrate) {
            (self.number, self.height, self.bitrate) = (number, height, bitrate)
        }
    }

    /// A frame of a rendition.
    package struct Output: Sendable {
        /// The number of the rendition.
        package let number: Int
        /// The frame.
        package let frame: EncodedFrame
    }

    private struct Encoding {
        let target: Target
        /// The encoder, and the frames for which it was opened; nil before the first frame.
        var open: (encoder: any VideoEncoder, dimensions: Dimensions, color: VideoColor, frameRate: Double)?
        var needsKeyFrame = true
    }

    /// The codec of the renditions.
    private let codec: Codec
    private let decoder: any VideoDecoder
    private let scaler = FrameScaler()
    private let choice: VideoEncoderChoice
    private var encodings: [Encoding] = []
    private var frameRate = FrameRateEstimate()

    /// Opens the decoder.
    ///
    /// - Parameters:
    ///   - source: The codec of the source.
    ///   - output: The codec of the renditions; nil for `Rendition.codec(of:)` of the source.
    ///   - choice: The encoder to use.
    /// - Throws: `CodecError.missing`, and `CodecError.unsupported` for audio.
    package init(
        codec source: Codec, output: Codec? = nil, encoder choice: VideoEncoderChoice = .automatic
    ) throws(CodecError) {
        codec = output ?? Rendition.codec(of: source)
        self.choice = choice
        decoder = try VideoDecoders.open(source)
    }

    /// Sets the renditions to make from the next frame on. Those that continue are not interrupted.
    package func setTargets(_ targets: [Target]) {
        encodings = targets.map { target in
            encodings.first { $0.target == target } ?? Encoding(target: target)
        }
    }

    /// Requests that the next frame of a rendition is a key frame. It does nothing for an unknown rendition.
    package func requestKeyFrame(of number: Int) {
        for index in encodings.indices where encodings[index].target.number == number {
            encodings[index].needsKeyFrame = true
        }
    }

    /// Processes a frame of the source.
    ///
    /// - Parameters:
    ///   - frame: The frame, in decoding order.
    ///   - encodes: Whether its renditions are needed. If not, it is decoded only, which costs less; later frames may
    ///     refer to it.
    /// - Returns: The frames of the renditions.
    /// - Throws: `CodecError.damaged` if the frame cannot be decoded; then frames up to the next key frame cannot
    ///   either. `CodecError` of the encoder, which cannot continue.
    package func process(_ frame: EncodedFrame, encodes: Bool) throws(CodecError) -> [Output] {
        guard encodes else {
            for timestamp in try decoder.skip(frame) { frameRate.observe(timestamp) }
            return []
        }
        var outputs: [Output] = []
        for picture in try decoder.decode(frame) {
            frameRate.observe(picture.timestamp)
            for index in encodings.indices { outputs += try encode(picture, by: &encodings[index]) }
        }
        return outputs
    }

    private func encode(_ picture: VideoFrame, by encoding: inout Encoding) throws(CodecError) -> [Output] {
        let dimensions = Rendition.dimensions(of: picture.dimensions, height: encoding.target.height)
        let rate = frameRate.value
        if let open = encoding.open,
            open.dimensions != dimensions || open.color != picture.color
                || FrameRateEstimate.differ(open.frameRate, rate)
        {
            encoding.open = nil
        }
        let scaled = scaler.scale(picture, to: dimensions)
        let encoder: any VideoEncoder
        if let open = encoding.open {
            encoder = open.encoder
        } else {
            let target = encoding.target.bitrate
            encoder = try VideoEncoders.open(
                choice, codec: codec, dimensions: dimensions, frameRate: rate,
                bitrate: target.bitsPerSecond > 0 ? target : Rendition.bitrate(of: dimensions), color: picture.color)
            encoding.open = (encoder, dimensions, picture.color, rate)
            encoding.needsKeyFrame = true
        }
        let frames = try encoder.encode(scaled, forceKeyFrame: encoding.needsKeyFrame)
        encoding.needsKeyFrame = false
        let number = encoding.target.number
        return frames.map { Output(number: number, frame: $0) }
    }
}

/// The frame rate of a source, from the timestamps of its frames in presentation order.
struct FrameRateEstimate: Hashable, Sendable {
    /// The frame rate that is assumed before it is known.
    static let assumed = 30.0
    /// The number of intervals after which the frame rate is known, and over which it is measured.
    private static let count = 16
    private static let longestInterval = 1.0
    /// An encoder is opened again if its frame rate differs by this factor.
    private static let tolerance = 1.5

    private var last: MediaTime?
    private var intervals: [Double] = []

    /// The frames per second, within the range that encoders accept.
    private(set) var value = Self.assumed

    /// Updates the estimate by the timestamp of the next frame. Gaps and jumps do not count.
    mutating func observe(_ timestamp: MediaTime) {
        defer { last = timestamp }
        guard let last, last.rate == timestamp.rate else { return }
        let interval = timestamp.rate.span(ofTicks: timestamp.ticks - last.ticks).seconds
        guard interval > 0, interval <= Self.longestInterval else { return }
        intervals.append(interval)
        guard intervals.count == Self.count else { return }
        let measured = Double(Self.count) / intervals.reduce(0, +)
        intervals.removeAll(keepingCapacity: true)
        if Self.differ(measured, value) { value = min(max(measured, 1), 240) }
    }

    /// Returns whether two frame rates differ too much for the rate control of one encoder.
    static func differ(_ one: Double, _ other: Double) -> Bool {
        max(one, other) > min(one, other) * tolerance
    }
}
