// Numbers in a readable form. Pure functions.

const units = ["bytes", "KB", "MB", "GB"];

export function formatSize(size = 0) {
	const power = size < 1000 ? 0 : Math.min(Math.floor(Math.log10(size) / 3), units.length - 1);
	const value = size / 1000 ** power;
	return `${power > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}

export function formatDuration(ms = 0) {
	if (!Number.isFinite(ms) || ms < 0) return "";
	if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
	const seconds = Math.round(ms / 1000);
	const minutes = Math.floor(seconds / 60);
	const hours = Math.floor(minutes / 60);
	if (seconds < 60) return `${seconds} s`;
	const two = (value = 0) => String(value).padStart(2, "0");
	if (minutes < 60) return `${minutes} min ${two(seconds % 60)} s`;
	if (hours < 24) return `${hours} h ${two(minutes % 60)} min`;
	return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** @type {ShortTime} */
export function formatTime(time, now = new Date()) {
	if (Number.isNaN(time.getTime())) return "";
	const ms = now.getTime() - time.getTime();
	if (ms < 60_000) return "just now";
	if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ago`;
	return formatClock(time, now);
}

/** @type {FormatTime} */
export function formatClock(time, now = new Date()) {
	const isToday = time.toDateString() === now.toDateString();
	return time.toLocaleString(undefined, {
		...(!isToday && { day: "numeric", month: "short" }),
		hour: "2-digit",
		minute: "2-digit",
	});
}

export const formatCount = (value = 0) => value.toLocaleString("en-US");

// `1 file`, `2 files`.
export const counted = (count = 0, one = "") => `${formatCount(count)} ${one}${count === 1 ? "" : "s"}`;

// In the middle.
export const shortPath = (path = "") =>
	path.replace(/^([\\/]?[^\\/]+[\\/]).{9,}([\\/][^\\/]+[\\/][^\\/]+)$/, "$1…$2");

/** @param {unknown[]} parts of which empty ones are left out */
export const joined = (parts, between = " · ") => parts.filter(Boolean).join(between);

/** @param {Totals} totals */
export const formatLines = ({ added, deleted }) => `+${added} −${deleted}`;

/** @param {Totals} totals */
export const formatChanges = totals =>
	joined([totals.files && `${counted(totals.files, "file")} changed`, formatLines(totals)], ", ");

/** @type {FormatUsage} */
export function formatUsage(usage) {
	const { inputTokens = 0, outputTokens = 0, premiumRequests, cost } = usage ?? {};
	return joined([
		(inputTokens || outputTokens) &&
			`${formatCount(inputTokens)} tokens in, ${formatCount(outputTokens)} out`,
		premiumRequests && counted(premiumRequests, "premium request"),
		cost && `cost ${Number(cost.toFixed(4))}`,
	]);
}
