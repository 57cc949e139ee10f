/// The AudioSpecificConfig, the header of AAC in MP4 and FLV (ISO/IEC 14496-3, section 1.6.2.1).
package struct AudioSpecificConfiguration: Hashable, Sendable {
    /// The way in which the configuration announces spectral band replication (HE-AAC; section 1.6.5.2).
    package enum Replication: Hashable, Sendable {
        /// The configuration announces it, in a form that decoders of plain AAC reject.
        case hierarchical
        /// The configuration announces it, in a form that decoders of plain AAC ignore.
        case backwardCompatible
        /// The configuration states that there is none.
        case absent
        /// The configuration does not announce it. At a sample rate of up to 24 kHz, frames may contain it nevertheless
        /// (implicit signaling), and only a decoder finds out.
        case unannounced
    }

    /// The configuration as it was received.
    package let bytes: [UInt8]
    /// The audio object type of the core: 2 for AAC-LC (table 1.17).
    package let objectType: UInt8
    /// The sample rate of the core in hertz.
    package let sampleRate: Int
    /// The number of channels; nil if the configuration does not define it.
    package let channels: Int?
    /// The way in which spectral band replication is announced.
    package let replication: Replication
    /// The sample rate after spectral band replication in hertz; nil if it is not announced.
    package let extendedSampleRate: Int?
    /// Whether parametric stereo is announced, with which one channel becomes two.
    package let hasParametricStereo: Bool
    /// The number of samples per channel and frame at the sample rate of the core.
    package let samplesPerFrame: Int

    /// The maximum size of a configuration in bytes.
    package static let maximumSize = 256

    /// The sample rates by `samplingFrequencyIndex` (table 1.18).
    private static let sampleRates = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
    ]
    /// The numbers of channels by `channelConfiguration` (table 1.19). Zero stands for a reserved value.
    private static let channelCounts = [0, 1, 2, 3, 4, 5, 6, 8, 0, 0, 0, 7, 8, 24, 8, 0]

    /// The object types with a GASpecificConfig.
    private static let generalObjectTypes: Set<UInt8> = [1, 2, 3, 4, 6, 7, 17, 19, 20, 21, 22, 23]

    /// Parses a configuration. Returns nil if it is truncated, is larger than ``maximumSize``, has a reserved value, or
    /// has an object type other than those of AAC.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.maximumSize else { return nil }
        var bits = ConfigurationBits(bytes)
        var objectType = bits.objectType()
        guard let sampleRate = bits.sampleRate(Self.sampleRates) else { return nil }
        let channelConfiguration = bits.read(4)
        var replication = Replication.unannounced
        var extendedSampleRate: Int?
        var hasParametricStereo = false
        if objectType == Self.replicationType || objectType == Self.parametricStereoType {
            replication = .hierarchical
            hasParametricStereo = objectType == Self.parametricStereoType
            guard let rate = bits.sampleRate(Self.sampleRates) else { return nil }
            extendedSampleRate = rate
            objectType = bits.objectType()
            if objectType == 22 { _ = bits.read(4) }
        }
        guard Self.generalObjectTypes.contains(objectType) else { return nil }
        // GASpecificConfig (section 4.4.1).
        let isShort = bits.read(1) == 1
        if bits.read(1) == 1 { _ = bits.read(14) }
        let hasExtension = bits.read(1) == 1
        let channels = channelConfiguration == 0 ? bits.programChannels() : Self.channelCounts[channelConfiguration]
        if objectType == 6 || objectType == 20 { _ = bits.read(3) }
        if hasExtension {
            if objectType == 22 { _ = bits.read(16) }
            if [17, 19, 20, 23].contains(objectType) { _ = bits.read(3) }
            _ = bits.read(1)
        }
        guard !bits.isExhausted, channels != 0 else { return nil }
        if replication == .unannounced, channelConfiguration != 0, bits.remaining >= 16, bits.read(11) == 0x2B7,
            bits.objectType() == Self.replicationType
        {
            replication = bits.read(1) == 1 ? .backwardCompatible : .absent
            if replication == .backwardCompatible {
                guard let rate = bits.sampleRate(Self.sampleRates) else { return nil }
                extendedSampleRate = rate
                if bits.remaining >= 12, bits.read(11) == 0x548 { hasParametricStereo = bits.read(1) == 1 }
            }
        }
        self.bytes = bytes
        self.objectType = objectType
        self.sampleRate = sampleRate
        self.channels = channels
        self.replication = replication
        self.extendedSampleRate = extendedSampleRate
        self.hasParametricStereo = hasParametricStereo
        samplesPerFrame = isShort ? 960 : 1_024
    }

    /// Whether frames may contain spectral band replication although the configuration does not announce it (section
    /// 1.6.5.3).
    package var mayReplicateImplicitly: Bool { replication == .unannounced && objectType == 2 && sampleRate <= 24_000 }

    /// The duration of a frame.
    package var frameDuration: TimeSpan {
        ClockRate(hertz: Int64(sampleRate)).span(ofTicks: Int64(samplesPerFrame))
    }

    private static let replicationType: UInt8 = 5
    private static let parametricStereoType: UInt8 = 29
}

/// Reads bits of a configuration. After the end it reads zeros.
private struct ConfigurationBits {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The number of bits that are left.
    var remaining: Int { max(bytes.count * 8 - position, 0) }

    /// Whether more bits were read than there are.
    var isExhausted: Bool { position > bytes.count * 8 }

    /// Reads an unsigned integer of up to 24 bits.
    mutating func read(_ count: Int) -> Int {
        var value = 0
        for _ in 0..<count {
            let byte = position >> 3
            value = value << 1 | (byte < bytes.count ? Int(bytes[byte] >> UInt8(7 - position & 7)) & 1 : 0)
            position += 1
        }
        return value
    }

    /// Reads an audio object type (table 1.15).
    mutating func objectType() -> UInt8 {
        let type = read(5)
        return UInt8(type == 31 ? 32 + read(6) : type)
    }

    /// Reads a sample rate by its index or explicitly. Returns nil for a reserved index and for zero.
    mutating func sampleRate(_ rates: [Int]) -> Int? {
        let index = read(4)
        let rate = index == 15 ? read(24) : index < rates.count ? rates[index] : 0
        return rate > 0 ? rate : nil
    }

    /// Reads the channels of a program_config_element (section 4.4.1.1), up to the elements that define them. Returns
    /// nil if it has none.
    mutating func programChannels() -> Int? {
        _ = read(10)
        let elements = [read(4), read(4), read(4)].reduce(0, +)
        let lowFrequency = read(2)
        _ = read(7)
        if read(1) == 1 { _ = read(4) }
        if read(1) == 1 { _ = read(4) }
        if read(1) == 1 { _ = read(3) }
        var channels = lowFrequency
        for _ in 0..<elements {
            channels += read(1) == 1 ? 2 : 1
            _ = read(4)
        }
        return channels > 0 ? channels : nil
    }
}
