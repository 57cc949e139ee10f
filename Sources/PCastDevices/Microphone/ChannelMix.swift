/// Brings a device's channels to one or two: one is doubled, more are averaged.
struct ChannelMix {
    let from: Int
    /// 1 or 2.
    let to: Int

    /// - Parameter samples: channels interleaved.
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

    /// Of many channels, those with even numbers are the left ones: an interface's inputs stand in pairs.
    private func mean(_ samples: [Float], frame: Int, first: Int) -> Float {
        var (sum, count) = (Float.zero, Float.zero)
        for channel in stride(from: first, to: from, by: to) {
            sum += samples[frame * from + channel]
            count += 1
        }
        return sum / count
    }
}
