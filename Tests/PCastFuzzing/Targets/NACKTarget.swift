import PCastCore
import PCastRTP

/// Requests for missing packets under any order of arrival.
enum NACKTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(bytes)
        var requester = NACKRequester()
        var sequence: Int64 = 1 << 32
        var now = Instant(nanoseconds: 0)
        var isAsked = false
        while !input.isAtEnd {
            let operation = input.byte()
            let step = Int64(Int8(bitPattern: input.byte()))
            now += .milliseconds(Int64(operation >> 4))
            switch operation % 8 {
            case 0...3: sequence += step
            case 4: sequence += step * 113
            case 5: requester.keyFrameReceived(upTo: sequence + step)
            case 6: requester.roundTrip = .milliseconds(step + 128)
            default: if step == 0 { requester.restart() } else { requester.abandon(before: sequence - 100 * step) }
            }
            requester.received(sequence, isRetransmission: operation & 8 != 0, at: now)
            isAsked = try poll(&requester, at: now) || isAsked
        }
        return isAsked
    }

    private static func poll(_ requester: inout NACKRequester, at now: Instant) throws(BrokenInvariant) -> Bool {
        var list: [UInt16] = []
        let before = requester.requested
        requester.poll(into: &list, at: now)
        try check(Int64(list.count) == requester.requested - before, "numbers that are not counted")
        try check(list.count <= NACKRequester.maximumMissing, "\(list.count) numbers asked for at once")
        try check(Set(list).count == list.count, "a number asked for twice")
        try check(requester.missingCount <= NACKRequester.maximumMissing, "\(requester.missingCount) missing")
        if let deadline = requester.deadline {
            try check(deadline > now, "a deadline that polling does not move")
        } else {
            try check(requester.missingCount == 0, "missing packets that nobody waits for")
        }
        return !list.isEmpty
    }

    static let corpus: [[UInt8]] = [
        [0, 1, 0, 3, 0x20, 255, 0xF0, 2, 4, 5, 0xF5, 0, 0xF0, 9, 0xF6, 20, 0xF0, 1, 7, 0, 0, 4],
        Array(repeating: [0xF0, 2], count: 40).flatMap { $0 } + [4, 100, 5, 0, 0xF0, 1],
    ]
}
