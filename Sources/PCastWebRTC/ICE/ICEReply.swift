import PCastCore

/// Writes responses to binding requests (RFC 8445, section 7.3).
///
/// A response is never larger than its request, so that requests with a forged source address cause no amplification.
/// Checks that conform to RFC 8445 have a priority and a role, and are always larger than the response.
enum ICEReply {
    /// Writes a success response. Returns its size in bytes; 0 if it would be larger than the request.
    static func success(
        to request: STUNMessage, at address: TransportAddress, key: [UInt8], into buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        var writer = STUNMessageWriter(.success, transactionID: request.transactionID, into: buffer)
        writer.addMappedAddress(address)
        return bounded(writer.finish(key: key), request)
    }

    /// Returns the length, or 0 if it is larger than the request.
    private static func bounded(_ length: Int, _ request: STUNMessage) -> Int { length <= request.size ? length : 0 }

    /// Writes an error response. Returns its size in bytes; 0 if it would be larger than the request.
    static func error(
        _ code: Int, to request: STUNMessage, key: [UInt8], into buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        var writer = STUNMessageWriter(.error, transactionID: request.transactionID, into: buffer)
        writer.addErrorCode(code)
        if code == STUNErrorCode.unknownAttribute { writer.addUnknownAttributes(request.unknownAttributes) }
        return bounded(writer.finish(key: key), request)
    }

    /// Writes the response to a request that is not authentic, unless it would be larger than the request. A forged
    /// source address must cause no amplification (RFC 8445, section 19).
    static func refuse(_ request: STUNMessage, into buffer: UnsafeMutableRawBufferPointer) -> ICEOutcome {
        let isIncomplete = request.integrityOffset == nil || request.usernameRange == nil
        let rejection: ICEOutcome.Rejection = isIncomplete ? .badRequest : .unauthenticated
        let size = STUNMessage.headerSize + 8 + 8
        guard request.size >= size else { return .rejected(rejection) }
        var writer = STUNMessageWriter(.error, transactionID: request.transactionID, into: buffer)
        writer.addErrorCode(isIncomplete ? STUNErrorCode.badRequest : STUNErrorCode.unauthenticated)
        return .rejected(rejection, replyLength: writer.finish(key: nil))
    }
}
