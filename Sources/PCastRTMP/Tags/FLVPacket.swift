/// A part of an audio or video message: the configuration or a frame of one track.
struct FLVPacket: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        /// The codec configuration.
        case configuration
        /// A frame, whose presentation is later than its decoding by a number of milliseconds.
        case frame(compositionOffset: Int32)
        /// The track ends, or the audio pauses.
        case end
        /// Data that is not needed: color information, channel layouts, commands for seeking.
        case ignored
    }

    /// The ID of the track, 0 without multitrack.
    var track: UInt8 = 0
    let codec: FourCC
    let kind: Kind
    /// Whether the message is marked as a key frame.
    var isKeyFrame = false
    /// The nanoseconds to add to the timestamp of the message.
    var nanoseconds: UInt32 = 0
    /// The range of the data in the payload.
    let body: Range<Int>
}

/// The reason why an audio or video message is dropped.
enum FLVError: Error, Hashable, Sendable {
    /// The message ends within a header.
    case truncated
    /// The message has a value that the specification reserves.
    case reserved
    /// The codec is not supported.
    case unsupportedCodec(String)
}

/// The header of Enhanced RTMP that video and audio share: ModEx, codec and tracks (Enhanced RTMP v2, "Enhanced Audio"
/// and "Enhanced Video").
struct FLVExtendedHeader {
    /// The numbers of the packet types that audio and video number differently.
    struct PacketTypes {
        let multitrack: UInt8
        static let modEx: UInt8 = 7
        static let audio = PacketTypes(multitrack: 5)
        static let video = PacketTypes(multitrack: 6)
    }

    /// The form of a message with tracks (`AvMultitrackType`).
    private enum Multitrack: UInt8 {
        case oneTrack = 0
        case manyTracks = 1
        case manyTracksManyCodecs = 2
    }

    /// The maximum number of tracks in a message.
    static let maximumTrackCount = 32

    /// The type of the packets.
    private(set) var packetType: UInt8
    /// The nanoseconds to add to the timestamp of the message.
    private(set) var nanoseconds: UInt32 = 0
    private var reader: ByteReader
    private let types: PacketTypes

    /// Reads the type of the packets and ModEx.
    ///
    /// - Parameters:
    ///   - reader: A reader after the first byte of the message.
    ///   - packetType: The type in the first byte.
    ///   - types: The numbers for video or audio.
    /// - Throws: `FLVError.truncated`.
    init(_ reader: ByteReader, packetType: UInt8, types: PacketTypes) throws(FLVError) {
        self.reader = reader
        self.packetType = packetType
        self.types = types
        while self.packetType == PacketTypes.modEx { try readModification() }
    }

    /// Reads ModEx: data of 1 to 65,536 bytes, then its type and the next packet type.
    private mutating func readModification() throws(FLVError) {
        var size = Int(try some(reader.uint8())) + 1
        if size == 256 { size = Int(try some(reader.uint16())) + 1 }
        let data = try some(reader.bytes(size))
        let types = try some(reader.uint8())
        // The type 0 is an offset of the timestamp, which is less than a millisecond.
        if types >> 4 == 0, data.count >= 3 {
            let offset = data.prefix(3).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            if offset < 1_000_000 { nanoseconds = offset }
        }
        packetType = types & 0x0F
    }

    /// Reads a byte after the header, the command of a message without media.
    mutating func readCommand() throws(FLVError) -> UInt8 { try some(reader.uint8()) }

    /// Reads the codecs and tracks, and passes the codec, the track and the data of each to a closure.
    mutating func forEachTrack(
        _ body: (_ codec: FourCC, _ track: UInt8, _ packetType: UInt8, _ data: Range<Int>) throws(FLVError) -> Void
    ) throws(FLVError) {
        guard packetType == types.multitrack else {
            let codec = try readCodec()
            return try body(codec, 0, packetType, reader.rest)
        }
        let kinds = try some(reader.uint8())
        packetType = kinds & 0x0F
        guard let multitrack = Multitrack(rawValue: kinds >> 4), packetType != types.multitrack,
            packetType != PacketTypes.modEx
        else { throw .reserved }
        let common = multitrack == .manyTracksManyCodecs ? nil : try readCodec()
        if multitrack == .oneTrack, let common {
            let track = try some(reader.uint8())
            return try body(common, track, packetType, reader.rest)
        }
        var count = 0
        while !reader.isAtEnd {
            count += 1
            guard count <= Self.maximumTrackCount else { throw .reserved }
            let codec = if let common { common } else { try readCodec() }
            let track = try some(reader.uint8())
            let size = Int(try some(reader.uint24()))
            try body(codec, track, packetType, try some(reader.range(size)))
        }
    }

    private mutating func readCodec() throws(FLVError) -> FourCC { FourCC(rawValue: try some(reader.uint32())) }

    private func some<Value>(_ value: Value?) throws(FLVError) -> Value {
        guard let value else { throw .truncated }
        return value
    }
}
