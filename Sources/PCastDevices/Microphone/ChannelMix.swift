/// Converts a device's channels to one or two: a single channel is duplicated, and several are averaged.
struct ChannelMix {
    let from: Int
    /// The number of output channels, 1 or 2.
    let to: Int

    /// Converts samples with interleaved channels.
    func mix(_ samples: [Float], into result: inout [Float]) {
        guard from != to else {
            result = samples
            return
        }
        let count = samples.count / from
        result.removeAll(keepingCapacity: true)
        result.reserveCapacity(count * to)
        for index in 0..<count {
            for channel in 0..<to {
                result.append(from == 1 ? samples[index] : mean(samples, frame: index, first: channel))
            }
        }
    }

    /// Returns the mean of every other channel. Even channels are the left ones, because the inputs of audio interfaces
    /// are paired.
    private func mean(_ samples: [Float], frame: Int, first: Int) -> Float {
        var (sum, count) = (Float.zero, Float.zero)
        for channel in stride(from: first, to: from, by: to) {
            sum += samples[frame * from + channel]
            count += 1
        }
        return sum / count
    }
}
