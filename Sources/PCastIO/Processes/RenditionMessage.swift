package import PCastCore

/// A message between a platform and the program that makes renditions of a stream. It is preceded by its size, because
/// frames are larger than a message of a socket.
package enum RenditionMessage: Hashable, Sendable {
    /// A rendition to make.
    package struct Target: Hashable, Sendable {
        /// The layer of its frames.
        package var layer: UInt8
        /// The length of its shorter side in pixels; 0 for the size of the source.
        package var height: UInt16
        /// The target bit rate; 0 for that of the ladder for its size.
        package var bitrate: Bitrate

        /// Creates a target.
        package init(layer: UInt8, height: UInt16, bitrate: Bitrate) {
            (self.layer, self.height, self.bitrate) = (layer, height, bitrate)
        }
    }

    /// A coded frame.
    package struct Frame: Hashable, Sendable {
        /// The layer; 0 for the source.
        package var layer: UInt8
        /// Whether it can be decoded without another.
        package var isKeyFrame: Bool
        /// The RTP timestamp of the source's frame, unwrapped.
        package var timestamp: Int64
        /// The time of capture.
        package var captureTime: WallTime
        /// The data, in the form of `EncodedFrame`.
        package var bytes: [UInt8]

        /// Creates a frame.
        package init(layer: UInt8, isKeyFrame: Bool, timestamp: Int64, captureTime: WallTime, bytes: [UInt8]) {
            (self.layer, self.isKeyFrame, self.timestamp) = (layer, isKeyFrame, timestamp)
            (self.captureTime, self.bytes) = (captureTime, bytes)
        }
    }

    /// The codec of the source, and the renditions to make from now on.
    case targets(Codec, [Target])
    /// The codec of the renditions, which precedes them. Without it, that is `Rendition.codec(of:)` of the source.
    case output(Codec)
    /// A frame of the source, or of a rendition.
    case frame(Frame)
    /// The layers, as bits, whose next frame must be a key frame.
    case keyFrames(UInt8)

    /// The maximum size of a message without its size, in bytes. A frame of video is smaller.
    package static let maximumSize = 8 << 20
    /// The size of the size that precedes a message in bytes.
    static let prefixSize = 4
    private static let frameHeaderSize = 19
    private static let targetSize = 7

    private enum Kind: UInt8 {
        case targets = 1
        case frame = 2
        case keyFrames = 3
        case output = 4
    }

    /// Parses a message without its size. Returns nil if it is malformed.
    package init?(encoded bytes: ArraySlice<UInt8>) {
        guard let kind = bytes.first.flatMap(Kind.init(rawValue:)) else { return nil }
        let start = bytes.startIndex + 1
        switch kind {
        case .targets:
            guard bytes.count >= 2, let codec = Self.codec(bytes[start]),
                (bytes.count - 2) % Self.targetSize == 0, bytes.count - 2 <= 8 * Self.targetSize
            else { return nil }
            let offsets = stride(from: start + 1, to: bytes.endIndex, by: Self.targetSize)
            self = .targets(
                codec,
                offsets.map { offset in
                    Target(
                        layer: bytes[offset], height: UInt16(Self.integer(bytes[offset + 1..<offset + 3])),
                        bitrate: .kilobits(Int64(Self.integer(bytes[offset + 3..<offset + 7]))))
                })
        case .frame:
            guard bytes.count > Self.frameHeaderSize else { return nil }
            self = .frame(
                Frame(
                    layer: bytes[start], isKeyFrame: bytes[start + 1] & 1 != 0,
                    timestamp: Int64(bitPattern: Self.integer(bytes[start + 2..<start + 10])),
                    captureTime: WallTime(
                        nanosecondsSinceEpoch: Int64(bitPattern: Self.integer(bytes[start + 10..<start + 18]))),
                    bytes: Array(bytes[(start + 18)...])))
        case .keyFrames:
            guard bytes.count == 2 else { return nil }
            self = .keyFrames(bytes[start])
        case .output:
            guard bytes.count == 2, let codec = Self.codec(bytes[start]) else { return nil }
            self = .output(codec)
        }
    }

    /// The encoded message with its size.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = [0, 0, 0, 0]
        switch self {
        case .targets(let codec, let targets):
            bytes += [Kind.targets.rawValue, Self.number(of: codec)]
            for target in targets {
                bytes.append(target.layer)
                bytes += Self.bytes(UInt64(target.height), count: 2)
                bytes += Self.bytes(UInt64(clamping: target.bitrate.bitsPerSecond / 1_000), count: 4)
            }
        case .frame(let frame):
            bytes.reserveCapacity(Self.prefixSize + Self.frameHeaderSize + frame.bytes.count)
            bytes += [Kind.frame.rawValue, frame.layer, frame.isKeyFrame ? 1 : 0]
            bytes += Self.bytes(UInt64(bitPattern: frame.timestamp), count: 8)
            bytes += Self.bytes(UInt64(bitPattern: frame.captureTime.nanosecondsSinceEpoch), count: 8)
            bytes += frame.bytes
        case .keyFrames(let layers): bytes += [Kind.keyFrames.rawValue, layers]
        case .output(let codec): bytes += [Kind.output.rawValue, Self.number(of: codec)]
        }
        let size = Self.bytes(UInt64(bytes.count - Self.prefixSize), count: Self.prefixSize)
        for index in 0..<Self.prefixSize { bytes[index] = size[index] }
        return bytes
    }

    /// The codecs of video at their numbers.
    private static let codecs: [Codec] = [.h264, .vp8, .vp9, .av1, .h265]

    private static func number(of codec: Codec) -> UInt8 { UInt8(codecs.firstIndex(of: codec) ?? 0) }

    private static func codec(_ value: UInt8) -> Codec? {
        codecs.indices.contains(Int(value)) ? codecs[Int(value)] : nil
    }

    private static func bytes(_ value: UInt64, count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * (count - 1 - $0))) }
    }

    static func integer(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}

/// Divides the bytes of a connection into messages.
package struct RenditionMessageReader: Sendable {
    /// The error of a peer that sends something else than messages. The connection must be ended.
    package struct Malformed: Error, Hashable {}

    private var bytes: [UInt8] = []
    private var start = 0

    /// Creates a reader.
    package init() {}

    /// The number of bytes that belong to no message yet.
    package var pendingCount: Int { bytes.count - start }

    /// Appends bytes that were read.
    package mutating func append(_ new: UnsafeRawBufferPointer) {
        if start > 0 {
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    /// Returns the next message; nil if it is not complete.
    ///
    /// - Throws: ``Malformed``.
    package mutating func next() throws(Malformed) -> RenditionMessage? {
        let prefix = RenditionMessage.prefixSize
        guard bytes.count - start >= prefix else { return nil }
        let size = Int(RenditionMessage.integer(bytes[start..<start + prefix]))
        guard size > 0, size <= RenditionMessage.maximumSize else { throw Malformed() }
        guard bytes.count - start >= prefix + size else { return nil }
        let body = bytes[start + prefix..<start + prefix + size]
        start += prefix + size
        guard let message = RenditionMessage(encoded: body) else { throw Malformed() }
        return message
    }
}
