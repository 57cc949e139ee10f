import PCastMedia

/// The answers to binding requests (RFC 8445, section 7.3), none of which is larger than its request: an address that has
/// been forged is never sent more than has been spent on it. Checks as RFC 8445 has them, with a priority and a role, are
/// always larger than what answers them.
enum ICEReply {
    static func success(
        to request: STUNMessage, at address: TransportAddress, key: [UInt8], into buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        var writer = STUNMessageWriter(.success, transactionID: request.transactionID, into: buffer)
        writer.addMappedAddress(address)
        return bounded(writer.finish(key: key), request)
    }

    private static func bounded(_ length: Int, _ request: STUNMessage) -> Int { length <= request.size ? length : 0 }

    static func error(
        _ code: Int, to request: STUNMessage, key: [UInt8], into buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        var writer = STUNMessageWriter(.error, transactionID: request.transactionID, into: buffer)
        writer.addErrorCode(code)
        if code == STUNErrorCode.unknownAttribute { writer.addUnknownAttributes(request.unknownAttributes) }
        return bounded(writer.finish(key: key), request)
    }

    /// The answer to a request that is not authentic: never larger than the request, else none at all, so that a
    /// forged source gains nothing (ICE11; RFC 8445, section 19).
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
