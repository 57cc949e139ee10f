import PCastCore
import PCastSFU
import PCastWebRTC

/// Counter-offers to subscribers whose offers cannot be accepted.
extension StreamDirectory {
    /// The maximum time from a counter-offer until the subscriber is connected.
    private static let counterOfferTimeout = TimeSpan.seconds(30)

    /// Returns the answer to a subscriber's offer, or an offer of the platform.
    ///
    /// - Parameters:
    ///   - peer: The subscriber's number.
    ///   - stream: The stream.
    ///   - offer: The subscriber's offer; nil for an offer of the platform.
    ///   - terms: The options of the subscriber.
    ///   - makesCounterOffer: Whether an offer that cannot be accepted gets a counter-offer.
    /// - Returns: The description, and the time for which it is valid; nil unless it is a counter-offer. The remaining
    ///   half of the timeout is for the connection.
    /// - Throws: `SFUError`. It is about the subscriber's offer if a counter-offer is not possible either.
    func negotiate(
        _ peer: PeerID, viewing stream: StreamID, _ offer: SessionDescription?, _ terms: PeerOptions,
        makesCounterOffer: Bool
    ) async throws(SFUError) -> (description: SessionDescription, counterOfferValidity: TimeSpan?) {
        do throws(SFUError) {
            return (try await router.view(peer, stream: stream, offer: offer, terms: terms), nil)
        } catch {
            if error.isAboutMediaSections, let offer, let second = await secondCodec(of: stream, for: peer, offer) {
                return (try await router.view(peer, stream: second, offer: offer, terms: terms), nil)
            }
            guard makesCounterOffer, offer != nil, error.isAboutMediaSections else { throw error }
            var terms = terms
            let timeout = min(terms.setupLimit ?? Self.counterOfferTimeout, Self.counterOfferTimeout)
            terms.setupLimit = timeout
            guard let counterOffer = try? await router.view(peer, stream: stream, offer: nil, terms: terms) else {
                throw error
            }
            return (counterOffer, timeout / 2)
        }
    }
}

extension SFUError {
    /// Whether another session description may be accepted, because this one is valid but its media are not.
    fileprivate var isAboutMediaSections: Bool {
        switch self {
        case .noCommonCodec, .unacceptable: true
        default: false
        }
    }
}
