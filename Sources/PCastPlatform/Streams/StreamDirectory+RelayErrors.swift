import PCastSFU

extension StreamDirectory {
    /// Returns the error for a client that the SFU rejects.
    static func refusal(_ error: SFUError) -> APIError {
        switch error {
        case .description(let problem):
            APIError(.badRequest, "The session description is invalid: \(problem).")
        case .noCommonCodec:
            APIError(
                .unsupported,
                "No media section can be accepted. H.264, VP8 and Opus are supported, and a viewer has to offer "
                    + "a track of the stream in its codec.")
        case .unacceptable(let sections): .unacceptable(sections)
        case .wrongDirection:
            APIError(
                .badRequest,
                "The media direction is wrong: a publisher sends sendonly or sendrecv, and a viewer "
                    + "recvonly or sendrecv.")
        case .unknownStream: .noStream
        case .streamExists: APIError(.conflict, "The stream already exists.")
        case .noOffer: APIError(.conflict, "There is no pending offer: it was already answered, or none was made.")
        case .unknownLayer(let name): APIError(.badRequest, "The stream has no layer “\(name)”.")
        case .unknownPeer: APIError(.gone, "The session has ended.")
        case .full: APIError(.capacity, "The platform has reached its capacity: retry later.")
        }
    }
}
