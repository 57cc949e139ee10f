import CALSA

/// The format of a device's samples.
enum SampleFormat: CaseIterable {
    case signed16
    case signed32
    case float
    /// Three bytes.
    case packed24
    /// The lower three of four bytes.
    case signed24

    /// The formats in order of preference, with no more bytes than useful.
    static let preferred: [SampleFormat] = [.signed16, .signed32, .float, .packed24, .signed24]

    init?(_ format: snd_pcm_format_t) {
        guard let match = Self.allCases.first(where: { $0.alsa == format }) else { return nil }
        self = match
    }

    var alsa: snd_pcm_format_t {
        switch self {
        case .signed16: SND_PCM_FORMAT_S16_LE
        case .signed32: SND_PCM_FORMAT_S32_LE
        case .float: SND_PCM_FORMAT_FLOAT_LE
        case .packed24: SND_PCM_FORMAT_S24_3LE
        case .signed24: SND_PCM_FORMAT_S24_LE
        }
    }

    var bytes: Int {
        switch self {
        case .signed16: 2
        case .packed24: 3
        case .signed32, .float, .signed24: 4
        }
    }

    /// Converts the samples to numbers from -1 to 1.
    func floats(_ bytes: UnsafeRawBufferPointer, into samples: inout [Float]) {
        let count = bytes.count / self.bytes
        samples.removeAll(keepingCapacity: true)
        samples.reserveCapacity(count)
        for index in 0..<count { samples.append(value(bytes, index * self.bytes)) }
    }

    @inline(__always)
    private func value(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Float {
        switch self {
        case .signed16:
            return Float(Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int16.self))) / 32_768
        case .signed32:
            return Float(Int32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)))
                / 2_147_483_648
        case .float:
            let bits = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            let value = Float(bitPattern: bits)
            return value.isFinite ? value : 0
        case .packed24:
            let high = UInt32(bytes[offset + 2]) << 24
            let low = UInt32(bytes[offset + 1]) << 16 | UInt32(bytes[offset]) << 8
            return Float(Int32(bitPattern: high | low)) / 2_147_483_648
        case .signed24:
            let word = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            return Float(Int32(bitPattern: word << 8)) / 2_147_483_648
        }
    }
}
