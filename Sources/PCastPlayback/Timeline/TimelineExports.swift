/// Who follows a timeline reads its events.
@_exported public import PCastTimeline
