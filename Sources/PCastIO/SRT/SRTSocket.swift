import CSRT
import Glibc
import PCastCore

/// The functions of libsrt that the listener calls.
enum SRTSocket {
    /// Prepares the library, which counts the calls.
    static func start() {
        // Messages of the library may contain stream IDs, which are secrets.
        srt_setloglevel(LOG_CRIT)
        srt_setloghandler(nil) { _, _, _, _, _, _ in }
        srt_startup()
    }

    /// Ends one use of the library.
    static func stop() { srt_cleanup() }

    /// Returns the error of the last call on this thread.
    static func failure() -> SRTListenerError { SRTListenerError(description: String(cString: srt_getlasterror_str())) }

    /// Whether the last call on this thread failed only because there is nothing to read.
    static var wouldBlock: Bool { srt_getlasterror(nil) == SRT_EASYNCRCV.rawValue }

    /// Opens a listening socket, whose handshakes the state decides about.
    static func listen(_ options: SRTListener.Options, _ state: SRTListenerState) throws(SRTListenerError) -> SRTSOCKET
    {
        let socket = srt_create_socket()
        guard socket != SRT_INVALID_SOCK else { throw failure() }
        do throws(SRTListenerError) {
            // Reading does not block, and the receiver sets the delay of live streams.
            try set(socket, SRTO_RCVSYN, 0)
            try set(socket, SRTO_SNDSYN, 0)
            try set(socket, SRTO_LATENCY, Int32(TimeSpan(options.latency).milliseconds))
            try set(socket, SRTO_IPV6ONLY, 0)
            // The sender of a viewer's media drops frames, not packets of them.
            try set(socket, SRTO_SNDDROPDELAY, -1)
            if let passphrase = options.passphrase {
                var text = Array(passphrase.utf8)
                guard srt_setsockflag(socket, SRTO_PASSPHRASE, &text, Int32(text.count)) >= 0 else { throw failure() }
            }
            // The state outlives the socket: the thread that closes it owns the state.
            let context = Unmanaged.passUnretained(state).toOpaque()
            guard srt_listen_callback(socket, decide, context) >= 0,
                SocketAddress.with(options.address, { srt_bind(socket, $0, Int32($1)) }) >= 0,
                srt_listen(socket, 128) >= 0
            else { throw failure() }
            return socket
        } catch {
            srt_close(socket)
            throw error
        }
    }

    /// Decides about a client, on a thread of the library. The result is zero to accept it.
    private static let decide:
        @convention(c) (
            UnsafeMutableRawPointer?, SRTSOCKET, Int32, UnsafePointer<sockaddr>?, UnsafePointer<CChar>?
        ) -> Int32 = { context, socket, _, peer, streamID in
            guard let context else { return -1 }
            let state = Unmanaged<SRTListenerState>.fromOpaque(context).takeUnretainedValue()
            let address = peer.flatMap { SocketAddress.read(from: UnsafeRawPointer($0)) }
            let text = streamID.map { String(cString: $0) } ?? ""
            guard let rejection = state.rejection(of: text, address) else { return 0 }
            srt_setrejectreason(socket, rejection.rawValue)
            return -1
        }

    private static func set(_ socket: SRTSOCKET, _ option: SRT_SOCKOPT, _ value: Int32) throws(SRTListenerError) {
        var value = value
        guard srt_setsockflag(socket, option, &value, Int32(MemoryLayout<Int32>.size)) >= 0 else { throw failure() }
    }

    /// Returns the port of a socket.
    static func port(of socket: SRTSOCKET) -> Int? {
        withUnsafeTemporaryAllocation(byteCount: SocketAddress.maximumSize, alignment: 8) { buffer in
            var size = Int32(SocketAddress.maximumSize)
            let name = buffer.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            guard srt_getsockname(socket, name, &size) >= 0 else { return nil }
            return SocketAddress.read(from: UnsafeRawPointer(buffer.baseAddress!)).map { Int($0.port) }
        }
    }

    /// Accepts a connection; nil if there is none.
    static func accept(_ listener: SRTSOCKET) -> (SRTSOCKET, TransportAddress?)? {
        withUnsafeTemporaryAllocation(byteCount: SocketAddress.maximumSize, alignment: 8) { buffer in
            var size = Int32(SocketAddress.maximumSize)
            let name = buffer.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            let socket = srt_accept(listener, name, &size)
            guard socket != SRT_INVALID_SOCK else { return nil }
            return (socket, SocketAddress.read(from: UnsafeRawPointer(buffer.baseAddress!)))
        }
    }

    /// Returns the stream ID of a connection.
    static func streamID(of socket: SRTSOCKET) -> String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 513) { buffer in
            var size = Int32(buffer.count)
            guard srt_getsockflag(socket, SRTO_STREAMID, buffer.baseAddress, &size) >= 0, size > 0 else { return "" }
            return String(decoding: buffer[..<min(Int(size), buffer.count)].prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    /// Returns the totals of a connection; zero if it has ended.
    static func statistics(_ socket: SRTSOCKET) -> SRTStatistics {
        var values = SRT_TRACEBSTATS()
        var statistics = SRTStatistics()
        guard srt_bstats(socket, &values, 0) >= 0 else { return statistics }
        statistics.receivedPackets = values.pktRecvTotal
        statistics.lostPackets = Int64(values.pktRcvLossTotal)
        statistics.droppedPackets = Int64(values.pktRcvDropTotal)
        statistics.retransmittedPackets = Int64(values.pktRcvRetrans)
        statistics.undecryptedPackets = Int64(values.pktRcvUndecryptTotal)
        statistics.sentPackets = values.pktSentUniqueTotal
        return statistics
    }

    /// Sends a message without waiting. Returns false if the connection has ended or has no space for it.
    static func send(_ message: UnsafeRawBufferPointer, to socket: SRTSOCKET) -> Bool {
        srt_sendmsg(
            socket, message.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(message.count), -1, 1) >= 0
    }

    /// Returns the time of media that waits in the queue of a connection; zero if it has ended.
    static func queuedTime(of socket: SRTSOCKET) -> TimeSpan {
        var values = SRT_TRACEBSTATS()
        guard srt_bistats(socket, &values, 0, 1) >= 0 else { return .zero }
        return .milliseconds(Int64(values.msSndBuf))
    }
}
