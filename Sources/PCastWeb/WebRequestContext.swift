package import Hummingbird
package import NIOCore
package import PCastCore

/// The context of a request: the client and the connection.
package struct WebRequestContext: RequestContext, RemoteAddressRequestContext {
    /// The context of Hummingbird.
    package var coreContext: CoreRequestContextStorage
    /// The remote address of the connection; nil if it is closed.
    package let remoteAddress: SocketAddress?
    /// The address of the client. It is the address that a trusted proxy reports, otherwise that of the connection. Nil
    /// if the connection is closed.
    package var clientAddress: IPAddress?
    /// Whether an untrusted proxy forwarded the request, so that the client is unknown.
    package var isHiddenByProxy = false
    /// Whether the client uses TLS according to a trusted proxy.
    package var isSecureByProxy = false
    /// The port of this server that received the connection.
    package let localPort: Int?
    /// The connection of the client.
    let channel: any Channel

    /// Creates the context of a connection.
    package init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        remoteAddress = source.channel.remoteAddress
        clientAddress = TransportAddress(source.channel.remoteAddress)?.ip
        channel = source.channel
        localPort = source.channel.localAddress?.port
    }

    /// The maximum size of a request's content in bytes. Offers, trickle ICE fragments and JSON requests are small.
    package var maxUploadSize: Int { 256 * 1024 }
}
