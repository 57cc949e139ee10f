/// The properties that a client sends with `connect`.
package struct RTMPClientInformation: Hashable, Sendable {
    /// An extended capability of Enhanced RTMP (`capsEx`).
    package struct Capabilities: OptionSet, Hashable, Sendable {
        /// The bits.
        package let rawValue: Int

        /// Creates capabilities from their bits.
        package init(rawValue: Int) { self.rawValue = rawValue }

        /// The client reconnects when it is requested.
        package static let reconnect = Capabilities(rawValue: 1)
        /// The client supports several tracks of a kind.
        package static let multitrack = Capabilities(rawValue: 2)
        /// The client can parse ModEx.
        package static let modEx = Capabilities(rawValue: 4)
        /// The client supports timestamps with nanoseconds.
        package static let nanosecondOffset = Capabilities(rawValue: 8)

        /// All capabilities, which this server supports.
        static let all: Capabilities = [.reconnect, .multitrack, .modEx, .nanosecondOffset]
    }

    /// The name of the encoder (`flashVer`); nil if it is absent.
    package let encoder: String?
    /// The extended capabilities; empty for legacy RTMP.
    package let capabilities: Capabilities
    /// The codecs that the client names, in its order; empty for legacy RTMP.
    package let codecs: [FourCC]
    /// The application of the address (`app`). It may contain a stream key.
    let application: String

    /// Whether the client supports Enhanced RTMP.
    package let isEnhanced: Bool

    /// The maximum size of the name of the encoder in characters. A longer one is cut.
    private static let maximumNameSize = 128
    /// The maximum number of codecs. Further ones are ignored.
    private static let maximumCodecCount = 32

    /// Reads the command object of `connect`.
    init(_ object: AMF0Object) {
        // A longer application is refused when the client publishes.
        application = String((object["app"]?.string ?? "").unicodeScalars.prefix(RTMPPublishAddress.maximumSize + 1))
        encoder = object["flashVer"]?.string.map { String($0.unicodeScalars.prefix(Self.maximumNameSize)) }
        capabilities = Capabilities(rawValue: object["capsEx"]?.count ?? 0).intersection(.all)
        let listed = object["fourCcList"]?.elements?.compactMap(\.string) ?? []
        let mapped = ["videoFourCcInfoMap", "audioFourCcInfoMap"].flatMap { name in
            object[name]?.object?.properties.map(\.name) ?? []
        }
        var codecs: [FourCC] = []
        for codec in (listed + mapped).prefix(4 * Self.maximumCodecCount).compactMap({ FourCC($0) })
        where !codecs.contains(codec) && codecs.count < Self.maximumCodecCount {
            codecs.append(codec)
        }
        self.codecs = codecs
        isEnhanced = ["fourCcList", "videoFourCcInfoMap", "audioFourCcInfoMap", "capsEx"].contains {
            object[$0] != nil
        }
    }
}

extension RTMPClientInformation: CustomStringConvertible {
    /// The name of the encoder and its capabilities. The application is omitted, because it may contain a stream key.
    package var description: String {
        let names = codecs.map(\.description).joined(separator: ", ")
        return "\(encoder ?? "unknown encoder"), capabilities \(capabilities.rawValue), codecs [\(names)]"
    }
}

/// A codec in the notation of Enhanced RTMP: four ASCII characters.
package struct FourCC: Hashable, Sendable {
    /// The characters in big-endian order.
    package let rawValue: UInt32

    /// Creates a code from its integer.
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Creates a code from its text. Returns nil unless it has four printable ASCII characters.
    package init?(_ text: String) {
        guard text.utf8.count == 4, text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return nil }
        rawValue = text.utf8.reduce(0) { $0 << 8 | UInt32($1) }
    }

    private init(known text: String) {
        precondition(text.utf8.count == 4, "a code has four characters")
        rawValue = text.utf8.reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// H.264.
    package static let h264 = FourCC(known: "avc1")
    /// H.265.
    package static let hevc = FourCC(known: "hvc1")
    /// AV1.
    package static let av1 = FourCC(known: "av01")
    /// VP9.
    package static let vp9 = FourCC(known: "vp09")
    /// VP8.
    package static let vp8 = FourCC(known: "vp08")
    /// AAC.
    package static let aac = FourCC(known: "mp4a")
    /// Opus.
    package static let opus = FourCC(known: "Opus")
    /// MP3.
    package static let mp3 = FourCC(known: ".mp3")
    /// FLAC.
    package static let flac = FourCC(known: "fLaC")
    /// AC-3.
    package static let ac3 = FourCC(known: "ac-3")
    /// Enhanced AC-3.
    package static let eac3 = FourCC(known: "ec-3")
}

extension FourCC: CustomStringConvertible {
    /// The characters. Others than printable ASCII are replaced by a question mark.
    package var description: String {
        String(
            decoding: stride(from: 24, through: 0, by: -8).map { shift in
                let byte = UInt8(truncatingIfNeeded: rawValue >> UInt32(shift))
                return (0x20..<0x7F).contains(byte) ? byte : UInt8(ascii: "?")
            }, as: UTF8.self)
    }
}
