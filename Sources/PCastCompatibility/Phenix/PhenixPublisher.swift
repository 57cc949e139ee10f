public import PCast

extension Publisher {
    /// The platform's ID of the stream.
    public var streamId: String! { streamID.description }

    /// Stops publishing. The platform and the viewers receive the reason.
    public func stop(_ reason: String!) { stop(reason: reason ?? "") }
}
