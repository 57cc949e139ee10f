import PCastSFU

extension StreamDirectory {
    /// Returns the error for a client that the SFU rejects.
    static func refusal(_ error: SFUError) -> APIError {
        switch error {
        case .description(let problem):
            APIError(.badRequest, "The session description cannot be used: \(problem).")
        case .noCommonCodec:
            APIError(
                .unsupported,
                "Nothing of the description can be used. H.264, VP8 and Opus are supported, and a viewer has to offer "
                    + "a track that the stream has, in its codec.")
        case .unacceptable(let sections): .unacceptable(sections)
        case .wrongDirection:
            APIError(
                .badRequest,
                "The session description goes the wrong way: who publishes says sendonly or sendrecv, and who views "
                    + "recvonly or sendrecv.")
        case .unknownStream: .noStream
        case .streamExists: APIError(.conflict, "The stream exists already.")
        case .noOffer: APIError(.conflict, "There is no offer to answer, or it was answered before.")
        case .unknownLayer(let name): APIError(.badRequest, "The stream has no layer “\(name)”.")
        case .unknownPeer: APIError(.gone, "The session has ended.")
        case .full: APIError(.capacity, "The platform is full: try again later.")
        }
    }
}
