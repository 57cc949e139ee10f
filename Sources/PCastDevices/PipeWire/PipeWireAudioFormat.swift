/// The format of a stream's samples, with interleaved channels at 48 kHz.
package struct PipeWireAudioFormat: Hashable, Sendable {
    /// The representation of a sample.
    package enum Sample: UInt8, CaseIterable, Sendable {
        case float = 1
        case signed16 = 2

        /// The identifier in `spa/param/audio/raw.h`.
        var id: UInt32 {
            switch self {
            case .float: 0x11b
            case .signed16: 0x103
            }
        }

        /// The number of bytes.
        var size: Int {
            switch self {
            case .float: 4
            case .signed16: 2
            }
        }
    }

    private enum Key {
        static let audio: UInt32 = 1
        static let sample: UInt32 = 0x10001
        static let rate: UInt32 = 0x10003
        static let channels: UInt32 = 0x10004
        static let positions: UInt32 = 0x10005
    }

    private typealias Common = PipeWireVideoFormat.Key

    /// The representation of the samples.
    package let sample: Sample
    /// The number of channels, 1 or 2.
    package let channels: Int

    /// Returns the offer of all formats with a number of channels, 1 or 2, to which the server mixes.
    package static func offer(channels: Int, rate: Int) -> PipeWirePod {
        PipeWirePod(
            type: Common.format, parameter: Common.formatOffer,
            [
                Common.mediaType: .id(Key.audio), Common.mediaSubtype: .id(Common.raw),
                Key.sample: .anyOf(Sample.allCases.map { .id($0.id) }), Key.rate: .integer(Int32(rate)),
                Key.channels: .integer(Int32(channels)),
                // Mono, or the left and the right channel.
                Key.positions: .ids(channels == 1 ? [2] : [3, 4]),
            ])
    }

    /// Reads the format that was chosen. Returns nil if it was not offered.
    package init?(_ pod: PipeWirePod, rate: Int) {
        guard pod.type == Common.format, pod.properties[Common.mediaType] == .id(Key.audio),
            pod.properties[Common.mediaSubtype] == .id(Common.raw), pod.properties[Key.rate] == .integer(Int32(rate)),
            case .id(let id)? = pod.properties[Key.sample], let sample = Sample.allCases.first(where: { $0.id == id }),
            case .integer(let channels)? = pod.properties[Key.channels], (1...2).contains(channels)
        else { return nil }
        (self.sample, self.channels) = (sample, Int(channels))
    }
}
