/// The samples of `PlayedAudio`: a ring buffer of fixed length that moves forward when audio is added at its end.
struct PlayedAudioRing {
    /// The number of samples (2.7 s). It is a power of two, so that the index of a sample consists of bits of its
    /// position.
    static let capacity = 1 << 17

    /// The maximum absolute sample value that counts as silence (about -72 dBFS), which decoders produce as noise.
    private static let quiet = 8

    /// The number of samples that share a flag for silence (5.3 ms).
    private static let blockLength = 256

    private var samples = [Int16](repeating: 0, count: capacity)
    private var isLoud = [Bool](repeating: false, count: capacity / blockLength)

    /// The position after the last recorded sample; nil before the first.
    private var end: Int64?

    /// Mixes audio into the buffer with saturation. Channels are averaged. Audio before the buffer is dropped. If it is
    /// further away than the length of the buffer, as after a long pause or a wrong time, the buffer restarts there.
    mutating func mix(_ audio: UnsafeBufferPointer<Int16>, channels: Int, at position: Int64) {
        precondition(channels > 0 && audio.count.isMultiple(of: channels))
        let count = audio.count / channels
        extend(from: position, to: position + Int64(count))
        let oldest = end! - Int64(Self.capacity)
        for index in 0..<count where position + Int64(index) >= oldest {
            var sum = 0
            for channel in 0..<channels { sum += Int(audio[index * channels + channel]) }
            let sample = sum / channels
            let slot = Self.slot(of: position + Int64(index))
            samples[slot] = Int16(clamping: Int(samples[slot]) + sample)
            if abs(sample) > Self.quiet { isLoud[slot / Self.blockLength] = true }
        }
    }

    /// Reads samples, which are silent where nothing is stored.
    func read(from position: Int64, into target: UnsafeMutableBufferPointer<Int16>) {
        let end = end ?? .min
        let oldest = end &- Int64(Self.capacity)
        for index in 0..<target.count {
            let ringPosition = position + Int64(index)
            target[index] = ringPosition >= oldest && ringPosition < end ? samples[Self.slot(of: ringPosition)] : 0
        }
    }

    /// Returns whether a block in the range is not silent.
    func hasAudio(from start: Int64, to end: Int64) -> Bool {
        guard let known = self.end else { return false }
        var ringPosition = max(start, known - Int64(Self.capacity))
        while ringPosition < min(end, known) {
            let slot = Self.slot(of: ringPosition)
            if isLoud[slot / Self.blockLength] { return true }
            ringPosition += Int64(Self.blockLength - slot % Self.blockLength)
        }
        return false
    }

    /// Moves the buffer, if necessary, so that it contains `newEnd`. New samples are silent.
    private mutating func extend(from start: Int64, to newEnd: Int64) {
        if end == nil || abs(start - end!) > Int64(Self.capacity) {
            for slot in samples.indices { samples[slot] = 0 }
            for block in isLoud.indices { isLoud[block] = false }
            end = start
        }
        for ringPosition in end!..<max(end!, newEnd) {
            let slot = Self.slot(of: ringPosition)
            samples[slot] = 0
            if slot.isMultiple(of: Self.blockLength) { isLoud[slot / Self.blockLength] = false }
        }
        end = max(end!, newEnd)
    }

    private static func slot(of position: Int64) -> Int { Int(position) & (capacity - 1) }
}
