import PCastCore

/// A request of another thread to an event loop's thread.
enum LoopItem<M: DatagramMachine & ~Copyable>: Sendable {
    case work(@Sendable (inout M, Instant) -> Void)
    case connect(TransportAddress, from: IPAddress?, @Sendable (Result<NetworkPath, IOError>) -> Void)
    case close(NetworkPath)
    case adopt(AcceptedConnection)
    case statistics(@Sendable (EventLoopStatistics) -> Void)
}
