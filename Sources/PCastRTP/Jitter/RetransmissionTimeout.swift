package import PCastCore

/// The time for which a missing packet is awaited.
package enum RetransmissionTimeout {
    /// Returns the timeout of video: the time until the third request is answered, because two requests or responses
    /// may be lost. At a loss rate of 10 %, one in a thousand packets is then still missing.
    ///
    /// The timeout is at least 250 ms, because packets that the publisher's uplink lost are requested there and arrive
    /// later; a key frame would not arrive sooner. It adds no delay while nothing is missing.
    ///
    /// - Parameter roundTripTime: The round-trip time.
    /// - Returns: The timeout.
    package static func video(roundTripTime: TimeSpan) -> TimeSpan {
        let requests = Int64(3)
        let interval = NACKRequester.interval(roundTrip: roundTripTime)
        return max(interval * requests + grace, .milliseconds(250))
    }

    /// The timeout of audio without retransmission. Reordered packets arrive within it, and a lost packet is concealed
    /// well.
    package static let audio = TimeSpan.milliseconds(60)

    /// Returns the timeout of audio with retransmission: one round-trip time, from 60 to 250 ms. A second one would
    /// delay the following audio too long.
    package static func audio(roundTripTime: TimeSpan) -> TimeSpan {
        min(max(NACKRequester.interval(roundTrip: roundTripTime) + grace, audio), .milliseconds(250))
    }

    /// The time by which a response may be later than the round-trip time.
    private static let grace = TimeSpan.milliseconds(20)
}
