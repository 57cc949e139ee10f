import COpenSSL

/// Access to OpenSSL's error queue of the current thread.
enum OpenSSLErrors {
    /// Returns the message of the oldest error and clears the queue.
    static func take() -> String {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0 else { return "no reason given" }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            ERR_error_string_n(code, buffer.baseAddress, buffer.count)
            return String(cString: buffer.baseAddress!)
        }
    }
}
