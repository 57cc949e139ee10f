/// An application that follows a timeline needs the types of its events.
@_exported public import PCastTimeline
