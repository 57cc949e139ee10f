/// The samples of `PlayedSound`: a window of fixed length on an endless line of them, which moves as sound is added at
/// its end.
struct PlayedSoundRing {
    /// 2.7 s: a power of two, so that a sample's slot is some of its position's bits.
    static let capacity = 1 << 17

    /// Sound below this is silence: a decoder's own noise (about -72 dB of full scale).
    private static let quiet = 8

    /// Samples that share one mark of whether they are silent, 5.3 ms.
    private static let blockLength = 256

    private var samples = [Int16](repeating: 0, count: capacity)
    private var isLoud = [Bool](repeating: false, count: capacity / blockLength)

    /// One past the last sample that is known; nil before the first.
    private var end: Int64?

    /// Adds sound to what is there, saturating. Channels are averaged. What lies before the window is left out, unless
    /// it is so far off, as after a long pause or from a writer that lied about the time, that the window begins anew.
    mutating func mix(_ sound: UnsafeBufferPointer<Int16>, channels: Int, at position: Int64) {
        precondition(channels > 0 && sound.count.isMultiple(of: channels))
        let count = sound.count / channels
        extend(from: position, to: position + Int64(count))
        let oldest = end! - Int64(Self.capacity)
        for index in 0..<count where position + Int64(index) >= oldest {
            var sum = 0
            for channel in 0..<channels { sum += Int(sound[index * channels + channel]) }
            let sample = sum / channels
            let slot = Self.slot(of: position + Int64(index))
            samples[slot] = Int16(clamping: Int(samples[slot]) + sample)
            if abs(sample) > Self.quiet { isLoud[slot / Self.blockLength] = true }
        }
    }

    /// Silence where nothing is known.
    func read(from position: Int64, into target: UnsafeMutableBufferPointer<Int16>) {
        let end = end ?? .min
        let oldest = end &- Int64(Self.capacity)
        for index in 0..<target.count {
            let place = position + Int64(index)
            target[index] = place >= oldest && place < end ? samples[Self.slot(of: place)] : 0
        }
    }

    /// Whether one of the blocks that the range touches is not silent.
    func hasSound(from start: Int64, to end: Int64) -> Bool {
        guard let known = self.end else { return false }
        var place = max(start, known - Int64(Self.capacity))
        while place < min(end, known) {
            let slot = Self.slot(of: place)
            if isLoud[slot / Self.blockLength] { return true }
            place += Int64(Self.blockLength - slot % Self.blockLength)
        }
        return false
    }

    /// Moves the window, if need be, so that it ends no earlier than `newEnd`; what is new in it is silent.
    private mutating func extend(from start: Int64, to newEnd: Int64) {
        if end == nil || abs(start - end!) > Int64(Self.capacity) {
            for slot in samples.indices { samples[slot] = 0 }
            for block in isLoud.indices { isLoud[block] = false }
            end = start
        }
        for place in end!..<max(end!, newEnd) {
            let slot = Self.slot(of: place)
            samples[slot] = 0
            if slot.isMultiple(of: Self.blockLength) { isLoud[slot / Self.blockLength] = false }
        }
        end = max(end!, newEnd)
    }

    private static func slot(of position: Int64) -> Int { Int(position) & (capacity - 1) }
}
